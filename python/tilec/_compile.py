# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_compile.py: a function, types and constants -> PTX, tile IR, what is in it and why, without a launch."""
import json
import types

from . import _args, _device, _tilec, _types
from ._jit import JITFunction, _NOTHING, options_text
from ._source import Unit, function_of, functions_in

_emits = {"ptx": 0, "llvm": 1, "layout": 2, "tir": 3, "ast": 4, "manifest": 5}
_formats = {"text": 0, "json": 1, "html": 2}


class Compiled:
    """What the compiler makes of a kernel; each text when it is first asked for."""

    def __init__(self, unit, signature, defines, options, target):
        self._unit, self._given = unit, (signature, defines, options, target)
        self._texts = {}
        self.name, self.target, self.source = unit.kernel, target, unit.text

    def _make(self, emit, stats=0, report=False):
        signature, defines, options, target = self._given
        u = self._unit
        try:
            return _tilec.compile(u.text, u.file, u.kernel, signature, defines, options, target, emit, stats, report)
        except _tilec.Error as e:
            e.args = (u.place(str(e)),)
            raise

    def _text(self, name, part=0, **how):
        if name not in self._texts:
            self._texts[name] = self._make(_emits.get(name, 0), **how).text(part)
        return self._texts[name]

    ptx = property(lambda self: self._text("ptx"), doc="PTX, with its manifest as comments")
    llvm = property(lambda self: self._text("llvm"), doc="LLVM IR")
    layout = property(lambda self: self._text("layout"), doc="tile IR with layouts")
    tir = property(lambda self: self._text("tir"), doc="tile IR, which the CPU device runs")
    manifest = property(lambda self: self._text("manifest"), doc="JSON: parameters and launch facts")
    stats = property(lambda self: self._text("stats", 4, stats=1), doc="instructions by kind, of each loop")

    @property
    def warnings(self):
        """What the compiler had to say."""
        return self._unit.place(self._text("warnings", 1))

    def report(self, format="text"):
        """What was made of the kernel and why, as "text", "json" or "html"."""
        if format not in _formats:
            raise ValueError(f"report: the formats are {', '.join(_formats)}")
        return self._make(0, report=True).report(_formats[format])

    @property
    def asm(self):
        """Triton's names for some of these texts."""
        return {"ptx": self.ptx, "llir": self.llvm, "ttir": self.tir, "ttgir": self.layout}

    @property
    def metadata(self):
        """What Triton's metadata has that kernels of tilec have, too: name, shared, num_warps, num_stages."""
        kernel = json.loads(self.manifest)["kernels"][0]
        return types.SimpleNamespace(name=kernel["name"], shared=kernel["shared"], num_warps=kernel["num_warps"],
                                     num_stages=kernel["num_stages"], num_ctas=1)  # fmt: skip

    def __repr__(self):
        return f"<tilec.Compiled {self.name} for {self.target or 'sm_80'}>"


def compile(fn, signature, constexprs=None, target=None, **options):
    """Compiles a @tilec.jit function. signature: {"x": "*fp32:16", "n": "i32"} or that as one text; constexprs:
    {"BLOCK": 128}, what is not named has its default; target: "sm_90a", "H100", …; options as in a launch."""
    return _compile(fn, signature, constexprs, target, options)


def _compile(fn, signature, constexprs, target, options, functions=()):
    """functions: those that the signature has, by JITFunction.named."""
    inner = function_of(fn)
    if inner is None:
        raise TypeError(f"compile: a @tilec.jit function is wanted, not a {type(fn).__name__}")
    jit = getattr(inner, "__tilec__", None) or JITFunction(inner)
    given = dict(constexprs or {})
    if not isinstance(signature, str):
        for name in signature:
            if name not in jit.index:
                raise TypeError(f"compile: {jit.__name__} has no argument '{name}'")
        signature = ", ".join(f"{name}={kind}" for name, kind in signature.items())
    values = []
    for i, name in enumerate(jit.arg_names):
        if jit.is_constexpr[i]:
            value = given.pop(name, jit.default[i])
            if value is _NOTHING:
                raise TypeError(f"compile: constexpr '{name}' of {jit.__name__} is missing")
            values.append((name, value))
    for name in given:
        raise TypeError(f"compile: {jit.__name__} has no constexpr '{name}'")
    unit = Unit(inner, functions + tuple(f for _, v in values for f in functions_in(v)))
    ((_, signature),) = jit.named(((0, signature),), functions, unit)
    defines = tuple(jit.constant(name, value, unit.other.__getitem__) for name, value in values)
    made = Compiled(unit, signature, defines, options_text(options), target)
    made.tir  # a mistake shows here and not later
    return made


def _type_of(kernel, i, value, keep, where):
    """The entry of a signature for an argument of a launch."""
    name = kernel.arg_names[i]
    what = f"{kernel.__name__}: {name}"
    element = _args.element_of(value)
    if element is not None:
        return f"*{_types.names[element]}:16"
    leaves = []
    text = kernel._leaf(value, what, leaves, keep, where)
    if text is not None:
        return text
    leaf = leaves[0]
    if kernel.annotated[i]:
        leaf = kernel._as_annotated(i, leaf)
    return _types.of_leaf(leaf) + _types.promise_of(leaf)


def compile_for(kernel, args, kwargs):
    """What kernel.warmup returns."""
    bound, options = kernel.bind(args, kwargs)
    device = options.pop("device", kernel.device)
    options.pop("stream", None)
    keep, where, signature, constants, functions = [], {}, [], {}, ()
    for i, value in enumerate(bound):
        if kernel.is_constexpr[i]:
            constants[kernel.arg_names[i]] = value
        else:
            signature.append(f"{kernel.arg_names[i]}={_type_of(kernel, i, value, keep, where)}")
            functions += functions_in(value)
    context = _device.context(device or kernel._device_of(where))
    target = context.target if context.target.startswith("sm_") else None
    return _compile(kernel, ", ".join(signature), constants, target, options, functions)

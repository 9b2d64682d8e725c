# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_jit.py: a decorated function and a launch of it -> the text (_source.py), the constants, the leaves of its
arguments (_args.py) -> a _tilec.Jit, which compiles and launches. One is kept for each set of constants."""
import functools
import sys
import types
import warnings
import weakref

from . import _args, _device, _tilec, _types, language
from ._source import (
    Unit, annotated_type, annotation_of, constant_text, function_of, functions_in, is_constexpr, read_source, triton_name,
)  # fmt: skip

_plain = (int, bool, float, type(None))
_NOTHING = object()
PLANS = 256  # of a kernel: a call looks through them, from the one that served the last
ALIKE = 4  # of those, that only their constants' identities tell apart
HOST, NO_TENSORS = -1, -2  # where a plan's arguments lie, besides a GPU's number


def promises_of(option):
    """What @jit is told of specialization, which the text of the kernel says again; option: name -> value."""
    return {name: list(option(name)) for name in ("do_not_specialize", "do_not_specialize_on_alignment") if option(name)}


def jit(fn=None, *, device=None, do_not_specialize=None, do_not_specialize_on_alignment=None, **ignored):
    """Makes a kernel, or a function for kernels, of a Python function in Triton's language."""
    for name in ignored:
        if name not in ("version", "repr", "launch_metadata", "debug", "noinline"):
            raise TypeError(f"jit() has no option '{name}'")
    if ignored.get("debug"):
        raise TypeError("jit(): debug is no option of tilec's; the CPU device checks device_assert always")
    promises = promises_of({"do_not_specialize": do_not_specialize,
                            "do_not_specialize_on_alignment": do_not_specialize_on_alignment}.get)  # fmt: skip

    def make(f):
        if isinstance(f, JITFunction):
            raise TypeError(f"{f.__name__} is a jit function already")
        inner = function_of(f)  # one of Triton's own
        return JITFunction(inner or f, device, promises)

    return make if fn is None else make(fn)


class _ShapesAlone(Exception):
    """A tensor without elements, as torch.compile has while it follows a program."""


def aggregate(cls):
    """Makes a class of fields that kernels make, call methods of and hand on; fields are annotated tl.tensor,
    tl.constexpr, tl.tuple or as another aggregate, methods made by jit or constexpr_function."""
    if not isinstance(cls, type):
        raise TypeError(f"aggregate: a class is wanted, not a {type(cls).__name__}")
    cls.__tilec_aggregate__ = read_source(cls)
    return cls


def constexpr_function(fn):
    """A function of constants, which kernels call while they are compiled, and Python as usual."""
    if not isinstance(fn, types.FunctionType):
        raise TypeError(f"constexpr_function: a function is wanted, not a {type(fn).__name__}")
    fn.__tilec_constexpr__ = read_source(fn)  # a mark: grids call such functions at each launch
    return fn


def _warn(unit, file, line, column, text, code):
    """What the compiler warns of in a variant that a launch has made, where the kernel's file has it."""
    unit = unit()
    place = unit.place(f"{file}:{line}:{column}") if unit and file else file
    level, frame = 2, sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == "tilec":
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{place}: {text} [{code}]" if place else f"{text} [{code}]", stacklevel=level)


def options_text(options):
    """num_warps=4 and the like as tile_compile_options.options; the compiler knows which there are."""
    parts = []
    for name, value in options.items():
        if name == "enable_fp_fusion":  # Triton's name for the opposite
            name, value = "no_fp_fusion", not value
        if not name.isidentifier():
            raise TypeError(f"there is no parameter and no option '{name}'")
        if value is None or value is False:
            continue
        if name == "num_ctas":
            if value != 1:
                raise ValueError("num_ctas: only 1")
            continue
        if isinstance(value, str) and value.isidentifier():
            parts.append(f"{name}={value}")
        elif hasattr(type(value), "__index__"):
            parts.append(f"{name}={value.__index__()}")
        else:
            raise TypeError(f"{name} is no parameter, and as an option it is a whole number")
    return ",".join(sorted(parts)) or None


def _mark(fn):
    """A function's name until it has one in its kernel's file: see JITFunction.named."""
    return f"<{id(fn)}>"


class JITFunction(_tilec.Launchable):
    """A kernel: `kernel[grid](x, y, n, BLOCK=1024, num_warps=4)`; or a function that kernels call."""

    def __init__(self, fn, device=None, promises=None):
        if not isinstance(fn, types.FunctionType):
            raise TypeError(f"jit: a function is wanted, not a {type(fn).__name__}")
        code = fn.__code__
        self.fn, self.device, self.promises = fn, device, promises or {}
        self.__name__, self.__qualname__, self.__doc__ = fn.__name__, fn.__qualname__, fn.__doc__
        self.__module__ = fn.__module__
        self.source = read_source(fn)
        count = code.co_argcount + code.co_kwonlyargcount
        self.arg_names = list(code.co_varnames[:count])
        self.has_rest = bool(code.co_flags & 12)  # *args, **kwargs
        self.npositional = code.co_argcount
        self.index = {name: i for i, name in enumerate(self.arg_names)}
        self.is_constexpr = [annotation_of(fn, name) == "constexpr" for name in self.arg_names]
        self.annotated = [annotated_type(fn, name) for name in self.arg_names]
        self.default = [_NOTHING] * count
        values = fn.__defaults__ or ()
        for i, value in enumerate(values):
            self.default[code.co_argcount - len(values) + i] = value
        for name, value in (fn.__kwdefaults__ or {}).items():
            self.default[self.index[name]] = value
        self._units, self._made, self._planned, self._plans = {}, {}, {}, ()
        self.last = None  # context and stream of a launch that took the long way
        fn.__tilec__ = self

    def __repr__(self):
        return f"<tilec.jit {self.__module__}.{self.__qualname__}>"

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{self.__name__} is a kernel's function: launch it as {self.__name__}[grid](…), "
                           "or call it in a kernel")

    def run(self, *args, grid, **kwargs):
        return self._launch(grid, args, kwargs)

    def warmup(self, *args, grid=None, **kwargs):
        """Compiles for such arguments, without a launch, and returns what tilec.compile does. A dtype instead of a
        tensor means a pointer to elements of it at a multiple of 16 bytes."""
        from ._compile import compile_for

        return compile_for(self, args, kwargs)

    def entry(self, *args, grid, **kwargs):
        """Which entry of its PTX such a launch takes, and why it is none of those before: ("k__persistent", {}), or
        ("k", {"k__persistent": "no tensor map of …"}). Compiles, and launches nothing."""
        made, unit, call = self._asked(grid, args, kwargs)[:3]
        try:
            return made.entry(*call[:2])
        except _tilec.Error as e:
            raise self.explain(unit, e)

    # ---- arguments ----

    def bind(self, args, kwargs):
        """The value of each parameter, and the options that are left."""
        n, total = len(args), len(self.arg_names)
        if self.has_rest:
            raise TypeError(f"{self.__name__}: a kernel has no *args and **kwargs")
        if n > self.npositional:
            raise TypeError(f"{self.__name__} takes {self.npositional} arguments by position, {n} were given")
        bound = list(args)
        if n < total or kwargs:
            kwargs = dict(kwargs)
            for i in range(n, total):
                value = kwargs.pop(self.arg_names[i], _NOTHING)
                if value is _NOTHING:
                    value = self.default[i]
                    if value is _NOTHING:
                        raise TypeError(f"{self.__name__}: argument '{self.arg_names[i]}' is missing")
                bound.append(value)
            for name in kwargs:
                if name in self.index:
                    raise TypeError(f"{self.__name__}: argument '{name}' is given twice")
        return bound, kwargs

    def _leaf(self, value, what, leaves, keep, where):
        """Adds the leaves of an argument; its type where it has parts."""
        if type(value) in _plain:
            leaves.append(value)
            return None
        if isinstance(value, tuple):
            parts = [self._part(v, what, leaves, keep, where) for v in value]
            return _types.of_tuple(parts, getattr(value, "_fields", None))
        if all(hasattr(value, name) for name in ("base", "shape", "strides", "block_shape")):
            return self._descriptor(value, what, leaves, keep, where)
        number = _args.scalar(value)
        if number is None and isinstance(value, (int, float)):
            number = int(value) if isinstance(value, int) else float(value)
        if number is not None:
            leaves.append(number)
            return None
        fn = function_of(value)
        if fn is not None:
            return f"@{_mark(fn)}"
        if _args.is_shape_alone(value):
            raise _ShapesAlone
        leaf, device = _args.pointer(value, what, keep)
        leaves.append(leaf)
        where[device] = value
        return None

    def _descriptor(self, value, what, leaves, keep, where):
        """Triton's TensorDescriptor, and ours."""
        base, device = _args.pointer(value.base, what, keep)
        where[device] = value.base
        shape, strides = [int(n) for n in value.shape], [int(n) for n in value.strides]
        padding = getattr(value, "padding", "zero")
        if padding not in ("zero", "nan"):
            raise ValueError(f"{what}: the padding of a descriptor is 'zero' or 'nan', not {padding!r}")
        leaves.append(base)
        leaves.extend(shape)
        leaves.extend((_types.I64, n) for n in strides)
        block = ", ".join(str(int(n)) for n in value.block_shape)
        return f"tensordesc<{_types.names[base[1]]}[{block}]{', nan' if padding == 'nan' else ''}>"

    def _part(self, value, what, leaves, keep, where):
        if is_constexpr(value) or triton_name(value) is not None:
            text = constant_text(value, _mark)
            if text is None:
                raise TypeError(
                    f"{what}: a tl.constexpr in a tuple is a number, a text, None, a dtype, a function or a tuple of these"
                )
            return text
        if isinstance(value, str):
            text = constant_text(value)
            if text is None:
                raise TypeError(f"{what}: a text with quotes, backslashes or control characters cannot be passed")
            return text
        text = self._leaf(value, what, leaves, keep, where)
        return _types.of_leaf(leaves[-1]) if text is None else text

    def _as_annotated(self, i, leaf):
        """The leaf of an argument as the annotation of its parameter says."""
        kind = self.annotated[i]
        if leaf is None or isinstance(leaf, tuple) != (kind < 0):
            wrong = leaf is not None
        elif kind < 0:
            return (leaf[0], -kind) + leaf[2:]
        else:
            wrong = not _tilec.is_number(kind, leaf)
            leaf = (kind, leaf)
        if wrong:
            name = _types.names[abs(kind)]
            wanted = f"a pointer to {name}" if kind < 0 else f"annotated as {name}"
            raise TypeError(f"{self.__name__}: {self.arg_names[i]} is {wanted}, which the argument is not")
        return leaf

    # ---- what is compiled ----

    def unit(self, others):
        unit = self._units.get(others)
        if unit is None or unit.stale():
            unit = self._units[others] = Unit(self.fn, others)
            self._made = {k: v for k, v in self._made.items() if v[0] in self._units.values()}
            self._keep_plans()
        return unit

    def constant(self, name, value, name_of):
        """NAME=VALUE for a constexpr."""
        if is_constexpr(value):
            value = value.value
        text = triton_name(value) if isinstance(value, language.dtype) else constant_text(value, name_of)
        if text is None and hasattr(type(value), "__index__"):
            text = repr(value.__index__())
        if isinstance(value, float) and value != value:
            text = "nan"
        elif text is not None and "float(" in text and not isinstance(value, str):
            text = None  # a NaN in a tuple
        if text is None:
            raise TypeError(f"{self.__name__}: {name} is a tl.constexpr, which a {type(value).__name__} cannot be")
        return f"{name}={text}"

    def named(self, parts, others, unit):
        """The types of arguments with the names that their functions have in the kernel's file."""
        for fn in others if parts else ():
            parts = tuple((i, text.replace(f"@{_mark(fn)}", f"@{unit.other[fn]}")) for i, text in parts)
        return parts

    def explain(self, unit, error):
        error.args = (unit.place(str(error)),)
        return error

    # ---- launching ----

    def _launch(self, grid, args, kwargs):
        try:
            self._launch_long(grid, args, kwargs)
        except _ShapesAlone:
            pass  # PyTorch follows what a program would do; there are no elements

    def _launch_long(self, grid, args, kwargs):
        made, unit, call, bound, index, context, plain = self._asked(grid, args, kwargs)
        self.last = context, call[2]
        try:
            made.launch(*call)
        except _tilec.Error as e:
            raise self.explain(unit, e)
        if plain:
            self._plan(made, unit, args, kwargs, bound, index, context)

    def _asked(self, grid, args, kwargs):
        """A _tilec.Jit and its unit, what its launch takes, the value of each parameter, where they lie, the context,
        and whether other launches may be planned by this one."""
        bound, options = self.bind(args, kwargs)
        device, stream = self.device, None
        if options:
            device = options.pop("device", device)
            stream = options.pop("stream", None)
            if stream is not None and not hasattr(stream, "__index__"):
                raise TypeError(
                    f"{self.__name__}: a stream is its address, such as torch's stream.cuda_stream, "
                    f"not a {type(stream).__name__}"
                )
        given_stream = stream
        leaves, keep, where, parts, constants, others = [], [], {}, (), [], ()  # where: device -> a tensor there
        for i, value in enumerate(bound):
            if self.is_constexpr[i]:
                kind = type(value)
                if kind is int or kind is bool or kind is str or value is None:
                    constants.append((kind, value))
                else:
                    fns = functions_in(value)
                    others += fns
                    constants.append((kind, self.constant(self.arg_names[i], value, id), fns))
                continue
            if type(value) in _plain:
                leaves.append(value if not self.annotated[i] else self._as_annotated(i, value))
                continue
            text = self._leaf(value, f"{self.__name__}: {self.arg_names[i]}", leaves, keep, where)
            if text is not None:
                parts += ((i, text),)
                others += functions_in(value)
            elif self.annotated[i]:
                leaves[-1] = self._as_annotated(i, leaves[-1])
        unit = self.unit(others)
        parts = self.named(parts, others, unit)
        said = options_text(options) if options else None
        if device is None:
            device = self._device_of(where)
        context = _device.context(device)
        key = (context, tuple(constants), said, parts)
        made = self._made.get(key)
        if made is None or made[0] is not unit:
            made = self._make(unit, context, bound, said, parts)
            self._made[key] = made
        if not (type(grid) is tuple):
            if callable(grid):
                meta = dict(zip(self.arg_names, bound))
                meta.update(options)
                grid = grid(meta)
            grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
        owner = next(iter(where), None)
        if stream is None:
            stream = 0 if context.on_host else _device.current_stream(owner or 0, where.get(owner))
        index = NO_TENSORS if not where else HOST if owner is None else owner
        plain = not parts and not others and given_stream is None and len(where) < 2
        return made[1], unit, (grid, tuple(leaves), stream), bound, index, context, plain

    def _plan(self, made, unit, args, kwargs, bound, index, context):
        """Calls like this one need not come here again, while there are few kinds of them; but where they have plans, which
        left this one to us."""
        kind = (made, tuple(kwargs), len(args), index)
        if sum(other == kind for other, _ in self._planned.values()) >= ALIKE:
            return
        params = tuple(
            (name, (bound[i],) if self.is_constexpr[i] else None, bound[i] if name not in kwargs and i >= len(args) else None,
             self.annotated[i])
            for i, name in enumerate(self.arg_names)
        )  # fmt: skip
        if any(name is None for _, name, _ in unit.uses):
            return  # closures are looked into the long way
        values = tuple(None if name in self.index else value for name, value in kwargs.items())
        if any(value is None and name not in self.index for name, value in kwargs.items()):
            return  # None marks a parameter
        uses = {(id(where), name): (where, name, value) for where, name, value in unit.uses}
        stream = None if context.on_host else functools.partial(_device.current_stream, max(index, 0))
        plan = _tilec.Plan(
            made, params, tuple(kwargs), values, tuple(uses.values()), _args.array, stream, functools.partial(self.explain, unit),
            len(args), index,
        )  # fmt: skip
        self._planned[plan] = kind, unit
        self._keep_plans()

    def _keep_plans(self):
        """The last ones, of units that are not stale."""
        units = self._units.values()
        kept = [(plan, of) for plan, of in self._planned.items() if of[1] in units][-PLANS:]
        self._planned, self._plans = dict(kept), tuple(plan for plan, _ in kept)

    def _device_of(self, where):
        if not where:
            return "auto"
        if len(where) > 1:
            raise ValueError(f"{self.__name__}: its arguments are on several devices")
        (index,) = where
        return "cpu" if index is None else f"cuda:{index}"

    def _make(self, unit, context, bound, said, parts):
        defines = tuple(
            self.constant(name, bound[i], unit.other.__getitem__)
            for i, name in enumerate(self.arg_names) if self.is_constexpr[i]
        )  # fmt: skip
        parts += tuple((i, _types.names[kind]) for i, kind in enumerate(self.annotated) if kind > 0)
        signature = ", ".join(f"{self.arg_names[i]}={text}" for i, text in parts) or None
        try:
            tell = functools.partial(_warn, weakref.ref(unit))  # which a Jit must not keep
            return unit, _tilec.Jit(context, unit.text, unit.file, unit.kernel, signature, defines, said, None, tell)
        except _tilec.Error as e:
            raise self.explain(unit, e)

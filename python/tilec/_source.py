# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_source.py: live Python functions -> the one text that the compiler reads.

The text has the kernel, the functions that it calls, found as Python would find them (closure, then the
module's globals, then attributes of modules), and what else they use: a global becomes a tl.constexpr, an
aggregate its class. The kernel and functions of its file stand in their own lines, functions of other files
behind them, so a place in the text is a place in a file. A name that means two things in two modules is called
otherwise in the text.
"""
import ast
import builtins
import copy
import inspect
import os
import re
import sys
import types

from . import _types, language
from ._tilec import CompilationError

TL = "_tilec_language"
FUNCTIONS_AT_MOST = 1000
_missing = object()


def read_source(fn):
    """Its file, the lines of its definition with decorators, and the number of the first of these."""
    try:
        lines, first = inspect.getsourcelines(fn)
        return inspect.getsourcefile(fn) or "<source>", lines, max(first, 1)
    except (OSError, TypeError) as e:
        raise CompilationError(f"the source of {fn.__qualname__} is not to be found: {e} [R0005]") from None


def number_text(value):
    if value != value:
        return 'float("nan")'
    if value in (float("inf"), float("-inf")):
        return "1e999" if value > 0 else "-1e999"
    return repr(value)


def constant_text(value, name_of=None):
    """A value as the source of a kernel writes it; None where that cannot be. name_of: of functions that
    the kernel's file has; names of tl and dtypes are known with it, too."""
    if is_constexpr(value):
        return constant_text(value.value, name_of)
    if name_of is not None:
        fn = function_of(value)
        if fn is not None:
            return f"@{name_of(fn)}"
        path = triton_name(value)
        if path is not None:
            return f"@tl.{path}"
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return number_text(float(value))
    if isinstance(value, str):
        if '"' in value or "\\" in value or not value.isprintable():
            return None
        return f'"{value}"'
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        parts = [constant_text(v, name_of) for v in value]
        if None in parts:
            return None
        return _types.of_tuple(parts)
    return None


def is_constexpr(value):
    """A tl.constexpr, ours or Triton's."""
    kind = type(value)
    return isinstance(value, language.constexpr) or kind.__name__ == "constexpr" and kind.__module__.startswith("triton.")


def triton_name(value):
    """The path below `triton.language` of a name of tilec.language or of Triton's own; None: it is neither."""
    if isinstance(value, language.Name):
        return value.path
    for owner in (value, type(value)):
        home = str(getattr(owner, "__module__", ""))
        if not home.startswith("triton.language"):
            continue
        for module in ("triton.language", home):  # tl.exp is defined in another module than it is known by
            for name, other in vars(sys.modules[module]).items():
                if other is value:
                    return f"{module}.{name}"[len("triton.language."):]
    return None


def module_name(module):
    """What the compiler calls a module that it knows; None: it is one of the user's."""
    name = module.__name__
    if name == "tilec.triton":
        return "triton"
    if name == "tilec" or name.startswith("tilec.language"):
        return "triton" + name[len("tilec"):]
    if name == "math" or name == "triton" or name.startswith("triton."):
        return name
    return None


def functions_in(value):
    """The functions of a value, and of tuples in it: see function_of."""
    if is_constexpr(value):
        return functions_in(value.value)
    if isinstance(value, (tuple, list)):
        return tuple(fn for v in value for fn in functions_in(v))
    fn = function_of(value)
    return () if fn is None else (fn,)


def function_of(value):
    """The Python function of a jit function or a constexpr_function, ours or Triton's; None: it is neither."""
    from ._jit import JITFunction

    while not isinstance(value, JITFunction):
        if isinstance(value, types.FunctionType):
            return value if is_constexpr_function(value) else None
        inner = getattr(value, "fn", None)
        if inner is None:
            return None
        if isinstance(inner, types.FunctionType):
            return inner if type(value).__module__.startswith("triton.") else None
        value = inner
    return value.fn


def is_constexpr_function(value):
    """One that runs while compiling, ours or Triton's."""
    kind = type(value)
    if kind is types.FunctionType:
        return hasattr(value, "__tilec_constexpr__")
    return kind.__name__ == "ConstexprFunction" and kind.__module__.startswith("triton.")


def is_aggregate(value):
    """A class of fields that kernels make, ours or Triton's."""
    return isinstance(value, type) and ("__tilec_aggregate__" in vars(value) or "__triton_aggregate__" in vars(value))


class _Function:
    """One function, read and parsed."""

    kind, must_be = ast.FunctionDef, "only functions made by def can be compiled"

    def __init__(self, fn, source):
        self.fn = fn
        self.file, lines, self.first = source
        self.indent = len(lines[0]) - len(lines[0].lstrip())
        pad = lines[0][: self.indent]
        self.lines = [
            (line[self.indent:] if line.startswith(pad) else line).rstrip("\n") for line in lines
        ]
        try:
            tree = ast.parse("\n".join(self.lines))
        except SyntaxError as e:
            raise CompilationError(f"{self.file}:{self.first + (e.lineno or 1) - 1}: error: {e.msg} [E0115]") from None
        self.node = tree.body[0]
        if not isinstance(self.node, self.kind):
            raise CompilationError(f"{self.file}:{self.first}: error: {self.must_be} [E0210]")
        self.edits = []  # (line, from, to, text), lines from 0, columns in bytes

    def edit(self, node, text):
        """Other text instead of a node's; one over several lines is put into the first of them."""
        first, last = node.lineno - 1, node.end_lineno - 1
        for i in range(first, last + 1):
            start = node.col_offset if i == first else 0
            end = node.end_col_offset if i == last else len(self.lines[i].encode())
            self.edits.append((i, start, end, text if i == first else ""))

    def begins_with(self, node, name):
        return self.lines[node.lineno - 1].encode()[node.col_offset:].startswith(name.encode())

    def text(self, decorator):
        """The lines, with the decorator in the line above `def`; one line more where there is none."""
        lines = [line.encode() for line in self.lines]
        for i, start, end, text in sorted(self.edits, reverse=True):
            lines[i] = lines[i][:start] + text.encode() + lines[i][end:]
        at = self.node.lineno - 1
        body = [line.decode() for line in lines[at:]]
        return self.first + at - 1, [decorator] + body

    def complain(self, node, what, code="E0210"):
        line = self.lines[node.lineno - 1]
        column = len(line.encode()[: node.col_offset].decode())
        raise CompilationError(
            f"{self.file}:{self.first + node.lineno - 1}:{self.indent + node.col_offset + 1}: error: {what} [{code}]\n"
            f"    {line}\n    {' ' * column}^"
        )


class _Class(_Function):
    """An aggregate; fn is the class."""

    kind, must_be = ast.ClassDef, "an aggregate is a class"

    def method(self, node):
        """One of its functions, whose edits are the class's; and whether it runs while compiling."""
        member = vars(self.fn).get(node.name)
        if member is None and node.name == "__init__":
            member = getattr(self.fn, "hash_attrs", (None,))[0]  # Triton's has one of its own
        view = copy.copy(self)
        view.fn, view.node = function_of(member) or member, node
        return view, is_constexpr_function(member)


def _nested_locals(code):
    names = set()
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= set(inner.co_varnames) | set(inner.co_cellvars) | _nested_locals(inner)
    return names


class Unit:
    """The text for a kernel, and the live values that it was made of."""

    def __init__(self, kernel, others=()):
        self.uses = []  # (namespace or cell, name, value): what must be the same for the text to be right
        self.names = {}  # in the text -> what it means
        self.tail = [f"import triton, triton.language as {TL}"]
        self.functions = {}  # of Python -> name in the text
        self.while_compiling = set()  # of these, the constexpr_functions
        self.classes = {}  # aggregates -> name in the text
        self.work = []
        self.names["triton"] = ("module", "triton")
        self.names[TL] = ("module", "triton.language")
        self.kernel = self._function(kernel)
        self.other = {fn: self._function(fn) for fn in others}
        read = []
        while self.work:
            read.append(self.work.pop(0))
            self._resolve(read[-1])
        self._lay_out(read)

    def stale(self):
        for where, name, value in self.uses:
            if name is None:
                if where.cell_contents is not value:
                    return True
            elif where.get(name, _missing) is not value:
                return True
        return False

    # ---- names ----

    def _take(self, wanted, meaning):
        """A name of the text for it: the wanted one, unless it means something else already."""
        name, n = wanted, 2
        while self.names.setdefault(name, meaning) != meaning:
            name, n = f"{wanted}_{n}", n + 1
        return name

    def _function(self, fn, while_compiling=False):
        if fn not in self.functions:
            self._count()
            jit = getattr(fn, "__tilec__", None)
            if while_compiling:
                self.while_compiling.add(fn)
            self.functions[fn] = self._take(fn.__name__, ("function", id(fn)))
            source = jit.source if jit else getattr(fn, "__tilec_constexpr__", None)
            self.work.append(_Function(fn, source or read_source(fn)))
        return self.functions[fn]

    def _count(self):
        if len(self.functions) + len(self.classes) > FUNCTIONS_AT_MOST:
            raise CompilationError(f"{self.kernel} calls more than {FUNCTIONS_AT_MOST} functions [E0820]")

    def _class(self, cls):
        if cls not in self.classes:
            self._count()
            for base in filter(is_aggregate, cls.__bases__):
                self._class(base)  # the text has it first
            self.classes[cls] = self._take(cls.__name__, ("class", id(cls)))
            self.work.append(_Class(cls, vars(cls).get("__tilec_aggregate__") or read_source(cls)))
        return self.classes[cls]

    def _value(self, value, wanted):
        """The name for a live value; None: a kernel cannot use it."""
        if is_aggregate(value):
            return self._class(value)
        if isinstance(value, types.ModuleType):
            module = module_name(value)
            if module is None:
                return None
            name = self._take(wanted, ("module", module))
            self._say(name, f"import {module} as {name}")
            return name
        fn = function_of(value)
        if fn is not None:
            return self._function(fn, is_constexpr_function(value))
        path = triton_name(value)
        if path is not None:
            name = self._take(wanted, ("triton", path))
            module, _, last = path.rpartition(".")
            self._say(name, f"from triton.language{'.' + module if module else ''} import {last} as {name}")
            return name
        text = constant_text(value)
        if text is None:
            return None
        name = self._take(wanted, ("constant", text))
        self._say(name, f"{name} = {TL}.constexpr({text})")
        return name

    def _say(self, name, line):
        if line not in self.tail and not (name == "triton" and line == "import triton as triton"):
            self.tail.append(line)

    # ---- what a function uses ----

    def _look_up(self, fn, name):
        free = fn.__code__.co_freevars
        if name in free:
            cell = fn.__closure__[free.index(name)]
            try:
                value = cell.cell_contents
            except ValueError:
                return _missing
            self.uses.append((cell, None, value))
            return value
        value = fn.__globals__.get(name, _missing)
        if value is _missing and hasattr(builtins, name):
            return _missing
        self.uses.append((fn.__globals__, name, value))
        return value

    def _resolve(self, f):
        own = self.classes if isinstance(f, _Class) else self.functions
        if own[f.fn] != f.node.name:
            self._rename(f, own[f.fn])
        (self._resolve_class if isinstance(f, _Class) else self._resolve_function)(f)

    def _resolve_class(self, c):
        for node, base in zip(c.node.bases, c.fn.__bases__):
            if is_aggregate(base):
                c.edit(node, self._class(base))
        for node in c.node.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._field(c, node)
            elif isinstance(node, ast.FunctionDef):
                method, while_compiling = c.method(node)
                if not isinstance(method.fn, types.FunctionType) or len(node.decorator_list) > 1:
                    c.complain(node, f"{node.name}: an aggregate has functions made by jit or constexpr_function")
                for decorator in node.decorator_list:
                    c.edit(decorator, "triton.constexpr_function" if while_compiling else "triton.jit")
                self._resolve_function(method)

    def _field(self, c, node):
        kind = c.fn.__annotations__.get(node.target.id)
        if isinstance(kind, str):  # from __future__ import annotations
            try:
                kind = eval(kind, vars(sys.modules[c.fn.__module__]))
            except (NameError, AttributeError, SyntaxError):
                c.complain(node.annotation, f"'{kind}' is nothing that module {c.fn.__module__} has", "E0205")
        path = "constexpr" if kind is language.constexpr else triton_name(kind)
        if path is None and not is_aggregate(kind):
            c.complain(node.annotation, "a field is a tl.tensor, a tl.constexpr, a tl.tuple or an aggregate")
        c.edit(node.annotation, self._class(kind) if path is None else f"{TL}.{path}")
        if node.value is not None and not isinstance(node.value, ast.Constant):
            value = {**vars(c.fn), **getattr(c.fn, "__aggregate_defaults__", {})}.get(node.target.id)
            text = constant_text(value) or self._value(value, "default")
            if text is None:
                c.complain(node.value, f"a default that is a {type(value).__name__} is nothing that a kernel can use", "E0305")
            c.edit(node.value, text)

    def _resolve_function(self, f):
        code = f.fn.__code__
        outer = set(code.co_varnames) | set(code.co_cellvars)
        inner = _nested_locals(code) - outer
        arguments = f.node.args
        self._defaults(f, arguments)
        for arg in arguments.posonlyargs + arguments.args + arguments.kwonlyargs:
            if arg.annotation is not None:
                self._annotation(f, arg)
        if f.node.returns is not None:
            self._blank_annotation(f, f.node.returns, b"->")
        chains, roots = [], []
        for child in f.node.body:
            self._collect(child, chains, roots)
        for root, path in chains:
            if root.id not in outer:
                self._reference(f, root, path, inner, outer | inner)

    def _collect(self, node, chains, roots):
        """Names and chains of attributes that begin with one; not the inner ones of a chain."""
        path, at = [], node
        while isinstance(at, ast.Attribute):
            path.append(at)
            at = at.value
        if isinstance(at, ast.Name):
            if isinstance(at.ctx, ast.Load):
                chains.append((at, path[::-1]))
            return
        for child in ast.iter_child_nodes(node):
            self._collect(child, chains, roots)

    def _reference(self, f, root, path, inner, variables):
        value = self._look_up(f.fn, root.id)
        if value is _missing:
            return  # the compiler says so, or it is Python's own
        if root.id in inner:
            f.complain(root, f"'{root.id}' is a global here and a variable of an inner scope: call one otherwise")
        wanted, span = root.id, root
        for attribute in path:
            known = isinstance(value, types.ModuleType) and module_name(value)
            if known or self._can_be_used(value):
                break
            if not isinstance(value, types.ModuleType):
                f.complain(span, f"'{wanted}' is a {type(value).__name__}, which a kernel cannot use")
            namespace, value = value, getattr(value, attribute.attr, _missing)
            if value is _missing:
                f.complain(attribute, f"module {namespace.__name__} has no '{attribute.attr}'", "E0206")
            self.uses.append((vars(namespace), attribute.attr, vars(namespace).get(attribute.attr, _missing)))
            wanted, span = f"{wanted}_{attribute.attr}", attribute
        if any(value is getattr(builtins, n, _missing) for n in (root.id,)):
            return
        name = self._value(value, wanted)
        if name is None:
            what = "module" if isinstance(value, types.ModuleType) else type(value).__name__
            f.complain(span, f"'{ast.unparse(span)}' is a {what}, which a kernel cannot use: "
                             "numbers, texts, None, tuples of these, tl.constexpr, @tilec.jit functions and aggregates it can")
        if span is root and name == root.id:
            return
        n = 2
        while name in variables:  # which would hide it here
            alias, n = self._take(f"{wanted}_{n}", ("alias", name)), n + 1
            if alias not in variables:
                self._say(alias, f"{alias} = {name}")
                name = alias
        if not f.begins_with(span, root.id):  # in an f-string, before Python 3.12
            f.complain(root, f"'{root.id}' cannot be used here: give what it means a variable, and use that")
        f.edit(span, name)

    def _can_be_used(self, value):
        return (constant_text(value) is not None or function_of(value) is not None or triton_name(value) is not None
                or is_aggregate(value))  # fmt: skip

    def _defaults(self, f, arguments):
        """Defaults were worked out when Python met the function: their values count, not their text."""
        nodes = list(arguments.defaults) + [d for d in arguments.kw_defaults if d is not None]
        values = list(f.fn.__defaults__ or ())
        by_name = f.fn.__kwdefaults__ or {}
        values += [by_name[a.arg] for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None]
        for node, value in zip(nodes, values):
            if isinstance(node, ast.Constant):
                continue
            text = constant_text(value)
            if text is None:
                name = self._value(value, "default")
                if name is None:
                    f.complain(node, f"a default that is a {type(value).__name__} is nothing that a kernel can use", "E0305")
                text = name
            f.edit(node, text)

    def _annotation(self, f, arg):
        """Only tl.constexpr and tl.const say something here; what else there is, is left out."""
        annotation = arg.annotation
        kind = annotation_of(f.fn, arg.arg)
        if kind is None:
            self._blank_annotation(f, annotation, b":")
        else:
            f.edit(annotation, f"{TL}.{kind}")

    def _blank_annotation(self, f, node, mark):
        line, column = node.lineno - 1, node.col_offset
        at = f.lines[line].encode().rfind(mark, 0, column)
        while at < 0 and line > 0:
            line -= 1
            at = f.lines[line].encode().rfind(mark)
        f.edits.append((line, at, at + len(mark), " " * len(mark)))
        for i in range(node.lineno - 1, node.end_lineno):
            start = node.col_offset if i == node.lineno - 1 else 0
            end = node.end_col_offset if i == node.end_lineno - 1 else len(f.lines[i].encode())
            f.edits.append((i, start, end, " " * (end - start)))

    def _rename(self, f, name):
        line = f.lines[f.node.lineno - 1].encode()
        at = re.compile(rb"(def|class)\s+").search(line, f.node.col_offset).end()
        f.edits.append((f.node.lineno - 1, at, at + len(f.node.name.encode()), name))

    # ---- the text ----

    def _lay_out(self, read):
        self.file = read[0].file
        lines, places = [], {}  # places: line of the text -> (file, line, indent)
        own = sorted((f for f in read if f.file == self.file), key=lambda f: f.first)
        others = [f for f in read if f.file != self.file]
        classes = [f for f in others if isinstance(f, _Class)]  # which may be bases
        for f in classes + own + [f for f in others if f not in classes]:
            first, text = f.text(self._decorator(f))
            if f.file != self.file or first <= len(lines):
                lines.append("")
                at = len(lines) + 1
            else:
                at = max(first, 1)
                lines += [""] * (at - 1 - len(lines))
            for i, line in enumerate(text):
                places[at + i] = (f.file, first + i, f.indent)
                lines.append(line)
        self.text = "\n".join(lines + self.tail) + "\n"
        self.places = places

    def _decorator(self, f):
        if isinstance(f, _Class):
            return "@triton.aggregate"
        if f.fn in self.while_compiling:
            return "@triton.constexpr_function"
        jit = getattr(f.fn, "__tilec__", None)
        said = "".join(f"{k}={v!r}, " for k, v in (jit.promises if jit else {}).items())
        return f"@triton.jit({said[:-2]})" if said else "@triton.jit"

    def place(self, text):
        """A message about the text as one about the files."""

        def put(match):
            file, line, indent = self.places.get(int(match[1]), (self.file, int(match[1]), 0))
            column = f":{int(match[2]) + indent}" if match[2] else ""
            return f"{file}:{line}{column}"

        # What fails while it runs names the file without its folder.
        folder, base = os.path.split(self.file)
        pattern = r"(?<![\w/.-])(?:" + re.escape(os.path.join(folder, "")) + ")?" + re.escape(base)
        return re.sub(pattern + r":(\d+)(?::(\d+))?", put, text).rstrip()


def annotation_of(fn, name):
    """'constexpr', 'const' or None, of a parameter."""
    a = fn.__annotations__.get(name)
    if isinstance(a, type):
        a = a.__name__
    if isinstance(a, str):
        last = a.replace(" ", "").rpartition(".")[2]
        if last in ("constexpr", "const"):
            return last
    return None


def annotated_type(fn, name):
    """The tile_type that a parameter's annotation says, below 0 of what a pointer points to; 0: it says none."""
    a = fn.__annotations__.get(name)
    pointers = 0
    if isinstance(a, str):
        text = a.strip().removeprefix("const ").replace(" ", "")
        pointers = text.count("*")
        text = text.strip("*").removeprefix("k" if text.startswith("*k") else "")
    elif isinstance(a, type):
        text = a.__name__
    else:
        element = getattr(a, "element_ty", None)
        if element is not None:
            a, pointers = element, 1
        text = getattr(a, "name", None) or (a.path if isinstance(a, language.dtype) else "")
    text = str(text).rpartition(".")[2].replace("_t", "")
    if pointers == 1:
        return -_types.annotations.get(text, 0)
    kind = _types.annotations.get(text, 0) if not pointers else 0
    return 0 if _types.is_float(kind) and _types.sizes[kind] == 1 else kind  # Python passes no floats of 8 bits

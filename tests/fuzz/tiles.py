# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tiles.py: statements over typed tiles, element by element, and loads → the text of a kernel, and of its twin.

A kernel is a tree of statements over typed tiles. Integers wrap, and every operation on them is exact. Floats are whole
numbers with a bound that is kept below what their type holds, so that no order of a sum rounds, and none is -0.0; in
modules whose products and sums are not fused some are rough, and go through operations element by element alone.
Twins have arms swapped, loops split, neutral elements, other tiles, and programs in another order."""
import re
from contextlib import contextmanager
from math import inf, prod

from source import Source

# as tilec names them: Triton's name, bits, kind, what its input holds, the largest whole number up to which all are held
TYPES = {
    "i1": ("int1", 1, "b", "randint(0,2)", 0),
    "i8": ("int8", 8, "i", "randint(-128,128)", 0), "u8": ("uint8", 8, "u", "randint(0,256)", 0),
    "i16": ("int16", 16, "i", "randint(-32768,32768)", 0), "u16": ("uint16", 16, "u", "randint(0,65536)", 0),
    "i32": ("int32", 32, "i", "randint(-2000000000,2000000000)", 0), "u32": ("uint32", 32, "u", "randint(0,4000000000)", 0),
    "i64": ("int64", 64, "i", "randint(-4000000000000,4000000000000)", 0),
    "u64": ("uint64", 64, "u", "randint(0,8000000000000)", 0),
    "fp16": ("float16", 16, "f", "randint(-4,5)", 1 << 11), "bf16": ("bfloat16", 16, "f", "randint(-4,5)", 1 << 8),
    "fp32": ("float32", 32, "f", "randint(-4,5)", 1 << 24)}
INTEGERS = [t for t in TYPES if TYPES[t][2] in "iu"]
FLOATS = [t for t in TYPES if TYPES[t][2] == "f"]
ROOM, LENGTH, TIMES = 1 << 14, 1000, 5  # elements of an input; of a flat kernel; turns of a loop at most
LARGEST = 2048  # elements of a tile

HELPERS = '''import triton
import triton.language as tl


@triton.jit
def add_up(a, b):
    return a + b


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def last(a, b):
    return b


@triton.jit
def line(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def mix(x, y, k: tl.constexpr = 3, swap: tl.constexpr = False):
    if swap:
        return y * k + x
    else:
        return x * k + y


@triton.jit
def power(x, n: tl.constexpr):
    if n == 0:
        return x * 0 + 1
    else:
        return power(x, n - 1) * x


@triton.jit
def both(x, y):
    return (x, y), x ^ y


@triton.jit
def clip(x, most: tl.constexpr):
    return tl.minimum(tl.maximum(x, -most), most)
'''


class Value:
    """A name, what it is, and for floats the largest magnitude; inf: rough."""

    def __init__(self, name, type_, shape, bound=0):
        self.name, self.type, self.shape, self.bound = name, type_, shape, bound
        self.kind, self.bits = TYPES[type_][2], TYPES[type_][1]

    whole = property(lambda v: v.bound < inf)


def wider(type_):
    """What sums and extremes of it are."""
    if TYPES[type_][1] >= 32:
        return type_
    return {"i": "i32", "u": "u32", "b": "i32", "f": "fp32"}[TYPES[type_][2]]


def input_of(letter, type_):
    """What tilerun fills an input with: whole numbers, or any."""
    return f"{TYPES[type_][3] if letter == 'x' else 'randn'}:{type_}[{ROOM}]"


class Tiles(Source):
    """A kernel's tree in `body`: texts with their twins, and blocks; its parameters in `uses`; `stored`, elements by type."""

    def __init__(self, seed, fused=True):
        super().__init__(f"kernel {seed}")
        self.seed, self.name, self.fused = seed, f"k{seed}", fused
        self.body, self.env, self.uses, self.stored, self.heads = [], [], {}, {}, {}
        self.grid = self.pick((1,), (2,), (3,), (2, 2), (3, 2), (2, 1, 2))
        self.programs, self.deep = prod(self.grid), 0
        self.times = self.pick(0, 1, 2, 3, TIMES)
        self.what = self.pick("flat", "dot", "dot", "padded", *["mixed"] * 5)
        self.tiles = (128, self.pick(32, 64, 256, 512)) if self.what == "flat" else None
        getattr(self, self.what)()

    # ---- text ----
    def emit(self, line, twin=None):
        self.body.append((line, twin or line))

    def let(self, text, type_, shape, bound=0, twin=None):
        value = Value(f"v{self.names}", type_, shape, bound)
        self.names += 1
        other = twin or text
        if value.kind in "iu" and self.maybe(.15):
            other = f"({other}) {self.pick('+ 0', '* 1', '^ 0', '| 0', '- 0', '<< 0', '// 1')}"
        elif value.kind == "f" and self.maybe(.15):
            other = f"({other}) {self.pick('* 1.0', '- 0.0', '+ 0.0') if value.whole else '* 1.0'}"
        self.emit(f"{value.name} = {text}", f"{value.name} = {other}")
        self.heads[value.name] = (type_, shape)
        self.env.append(value)
        return value

    @contextmanager
    def block(self, *form):
        """Statements of a block's own; what they define is gone behind it."""
        body, self.body, known = self.body, [], len(self.env)
        self.deep += 1
        yield
        self.deep -= 1
        inner, self.body = self.body, body
        del self.env[known:]
        self.body.append((*form, inner or [("pass", "pass")]))

    def render(self, nodes, twin, depth=1):
        """Lines of them, of the twin where that is asked."""
        pad, lines = "    " * depth, []
        for node in nodes:
            if node[0] == "for":
                _, name, first, last, options, inner = node
                cut = f"tl.minimum({last}, {first} + 2)"
                ends = [(first, cut), (cut, last)] if twin and not options else [(first, last)]
                for low, high in ends:
                    lines.append(f"{pad}for {name} in tl.range({low}, {high}{options}):")
                    lines += self.render(inner, twin, depth + 1)
            elif node[0] == "if":
                _, condition, yes, no = node
                if twin:
                    condition, yes, no = f"not ({condition})", no, yes
                lines += [f"{pad}if {condition}:", *self.render(yes, twin, depth + 1)]
                lines += [f"{pad}else:", *self.render(no, twin, depth + 1)]
            elif node[0] == "block":
                lines += [pad + node[1], *self.render(node[2], twin, depth + 1)]
            else:
                lines.append(pad + node[bool(twin)])
        return lines

    def text(self, twin=False):
        """The kernel, or its twin, whose name has a t."""
        grid = f"cdiv({LENGTH}, BLOCK)" if self.tiles else ", ".join(map(str, self.grid))
        params = [f'{name}: "*{type_}:16"' for name, type_ in sorted(self.uses.items())] + ['n: "i32"']
        if self.tiles:
            params.append(f"BLOCK: tl.constexpr = {self.tiles[bool(twin)]}")
        lines = [f"\n\n# tile: grid = {grid}", "@triton.jit", f"def {self.name}{'t' * bool(twin)}({', '.join(params)}):"]
        for axis in range(len(self.grid)):
            turned = twin and self.seed % 2 and not self.tiles
            number = f"tl.num_programs({axis}) - 1 - tl.program_id({axis})" if turned else f"tl.program_id({axis})"
            lines.append(f"    p{axis} = {number}")
        number = "p0"
        for axis in range(1, len(self.grid)):
            number = f"({number}) * {self.grid[axis]} + p{axis}"
        lines.append(f"    pid = {number}")
        body = self.render(self.body, twin)
        sizes = sorted({int(s) for s in re.findall(r"\br(\d+)\b", "\n".join(body))})
        lines += [f"    r{s} = tl.arange(0, {s})" for s in sizes]
        if self.tiles:
            lines += ["    at = pid * BLOCK + tl.arange(0, BLOCK)", f"    inside = at < {LENGTH}"]
        return "\n".join(lines + body) + "\n"

    def arguments(self):
        return [f"{name}={input_of(name[0], type_)}" if name[0] not in "oc" else f"{name}=zeros:{type_}[{self.size_of(name)}]"
                for name, type_ in sorted(self.uses.items())] + [f"n={self.times}"]

    def size_of(self, name):
        """How many elements a buffer that is stored to has."""
        return LENGTH * self.stored[name] if self.tiles else self.stored[name] * (self.programs if name[0] == "o" else 1)

    def buffers(self):
        """The name of each, and the bytes of those that are stored to."""
        return [(name, self.size_of(name) * -(-TYPES[type_][1] // 8) if name[0] in "oc" else None) for name, type_ in sorted(self.uses.items())]

    def results(self):
        return [name for name in sorted(self.uses) if name[0] in "oc"]

    # ---- values ----
    def use(self, letter, type_):
        self.uses[f"{letter}_{type_}"] = type_
        return f"{letter}_{type_}"

    def range_of(self, shape, axis):
        places = ", ".join(":" if i == axis else "None" for i in range(len(shape)))
        return f"r{shape[axis]}" + (f"[{places}]" if len(shape) > 1 else "")

    def load(self, type_, shape, at=""):
        """A tile of an input: rows or columns first, turned, with room between, the same along an axis; masked or not."""
        rough = not self.fused and type_ in FLOATS and self.maybe(.3)
        pointer, bound = self.use("y" if rough else "x", type_), inf if rough else 4 if type_ in FLOATS else 0
        if self.tiles:
            shift = self.pick(0, 0, 1, 16)
            mask = self.pick(", mask=inside", ", mask=inside, other=1", f", mask=inside & (at > {self.pick(3, 64)}), other=0")
            if ", other" not in mask:
                return self.let(f"tl.load({pointer} + {shift} + at, mask=inside, other=0)", type_, shape, bound)
            return self.let(f"tl.load({pointer} + {shift} + at{mask})", type_, shape, bound)
        order, stride, terms = list(range(len(shape))), self.pick(1, 1, 1, 1, 2), []
        self.random.shuffle(order) if self.maybe(.3) else order.reverse()
        for axis in order:
            place = self.range_of(shape, axis)
            if self.maybe(.1):
                place = f"({shape[axis] - 1} - {place})"
            if shape[axis] > 1 and not (len(shape) > 1 and self.maybe(.06)):
                terms.insert(self.pick(0, len(terms)), place if stride == 1 else f"{place} * {stride}")
                stride *= shape[axis] + self.pick(0, 0, 0, 8)
            else:
                terms.append(f"{place} * 0")
            if stride > ROOM // 4:
                return self.load(type_, shape, at)
        base = self.pick(0, 0, 16, 64, 5) + (self.pick(0, 0, 64, 256) if self.maybe(.5) else 0)
        step = self.pick(0, 16, 100, 256)
        mask = ""
        if shape and self.maybe(.35):
            axis = self.random.randrange(len(shape))
            edge = self.pick(f"{self.range_of(shape, axis)} < {max(1, shape[axis] - self.pick(1, 3, 5))}",
                             f"{self.range_of(shape, axis)} % 3 != pid", f"({' + '.join(terms)}) < {self.pick(40, 200)} * n")
            mask = f", mask={edge}, other={self.pick(0, 1)}"
        text = " + ".join([pointer, str(base), f"pid * {step}", *terms])
        return self.let(f"tl.load({text}{at}{mask})", type_, shape, bound)

    def shape(self, rank=None):
        rank = self.pick(1, 1, 2, 2, 2, 3) if rank is None else rank
        while True:
            found = tuple(self.pick(1, 2, 4, 8, 16, 32, 64, 128, 256) for _ in range(rank))
            if 16 <= prod(found) <= LARGEST:
                return found

    def any_type(self):
        return self.pick(*INTEGERS, *FLOATS, *FLOATS, "i32", "i32", "i1")

    def choose(self, test=lambda v: True):
        """A value that passes the test, or None; late ones come more often."""
        fit = [v for v in self.env if test(v)]
        return self.pick(*fit, *fit[-3:]) if fit else None

    def like(self, type_, shape, whole=False):
        """A value of this type and shape, there or made."""
        there = self.choose(lambda v: v.type == type_ and v.shape == shape and (v.whole or not whole))
        if there and self.maybe(.7):
            return there
        cast = self.choose(lambda v: v.shape == shape and (v.whole or not whole))
        if cast and self.maybe(.4):
            return self.cast_to(cast, type_)
        if not self.tiles and shape and self.maybe(.3):
            axis = self.random.randrange(len(shape))
            flat = self.choose(lambda v: v.shape == (shape[axis],) and v.type == type_ and (v.whole or not whole))
            if flat:
                places = ", ".join(":" if i == axis else "None" for i in range(len(shape)))
                return self.let(f"tl.broadcast_to({flat.name}[{places}], {self.tuple(shape)})", type_, shape, flat.bound)
        made = self.load(type_, shape)
        return made if made.whole or not whole else self.whole(made)

    def whole(self, v):
        return self.let(f"tl.floor({v.name}.to(tl.float32)).to(tl.int32).to(tl.float32)", "fp32", v.shape, 1 << 20) \
            if v.type == "fp32" else self.let(f"({v.name}.to(tl.int32) & 3).to(tl.{TYPES[v.type][0]})", v.type, v.shape, 3)

    def tuple(self, shape):
        return "(" + "".join(f"{s}, " for s in shape).strip() + ")" if len(shape) != 1 else f"({shape[0]},)"

    def shrink(self, v, most):
        """It, or it cut off, with magnitudes up to `most`."""
        if v.bound <= most:
            return v
        return self.let(self.pick(f"clip({v.name}, {most})", f"tl.clamp({v.name}, -{most}.0, {most}.0)"), v.type, v.shape, most)

    def cast_to(self, v, type_):
        name, kind = f"tl.{TYPES[type_][0]}", TYPES[type_][2]
        if v.kind == "f" and kind == "f":
            v = self.shrink(v, TYPES[type_][4]) if v.whole else v
            return self.let(f"{v.name}.to({name})", type_, v.shape, v.bound)
        if kind == "f":
            text = v.name if v.kind == "b" else f"({v.name} {self.pick('& 7', '% 5') if v.kind == 'i' else '& 7'})"
            return self.let(f"{text}.to({name})", type_, v.shape, 8)
        if kind == "b":
            return self.let(f"{v.name} != 0", "i1", v.shape, twin=f"0 != {v.name}" if self.maybe(.5) else None)
        return self.let(self.pick(f"{v.name}.to({name})", f"tl.cast({v.name}, {name})"), type_, v.shape)

    def literal(self, v):
        if v.kind == "f":
            return self.pick("1.0", "2.0", "3", "-2.0")
        return str(self.pick(1, 2, 3, 7, 100, *([-1, -5] if v.kind == "i" else [])))

    # ---- steps: each may find nothing to do ----
    def binary(self):
        v = self.choose(lambda v: v.kind != "b")
        if not v:
            return
        w = None if self.maybe(.25) else self.like(v.type, v.shape, v.kind == "f" and v.whole)
        if v.kind == "f":
            return self.float_binary(v, w)
        other = w.name if w else self.literal(v)
        op = self.pick("+", "-", "*", "&", "|", "^", "<<", ">>", "//", "%", "min", "max")
        if op in ("min", "max"):
            name = f"tl.{op}imum"
            return self.let(f"{name}({v.name}, {other})", v.type, v.shape, twin=f"{name}({other}, {v.name})")
        if op in ("<<", ">>"):
            other = f"({other} & 7)" if w else str(self.random.randrange(8))
            return self.let(f"{v.name} {op} {other}", v.type, v.shape)
        if op in ("//", "%"):
            other = f"(({other} & 7) + 1)" if w else str(self.pick(1, 2, 3, 8, 10))
            twin = f"{v.name} - ({v.name} // {other}) * {other}" if op == "%" else None
            return self.let(f"{v.name} {op} {other}", v.type, v.shape, twin=twin)
        twin = f"{v.name} + (0 - {other})" if op == "-" and w else f"{other} {op} {v.name}" if op != "-" else None
        self.let(f"{v.name} {op} {other}", v.type, v.shape, twin=twin)

    def float_binary(self, v, w):
        op, limit = self.pick("+", "-", "*", "min", "max"), TYPES[v.type][4]
        if v.whole and op in "+-*":
            v = self.shrink(v, 8 if op == "*" else limit // 2)
            w = w and self.shrink(w, 8 if op == "*" else limit // 2)
        bound, other = w.bound if w else 3, w.name if w else self.literal(v)
        if op in ("min", "max"):
            name = f"tl.{op}imum"
            return self.let(f"{name}({v.name}, {other})", v.type, v.shape, max(v.bound, bound), f"{name}({other}, {v.name})")
        if op == "*":
            end = " + 0.0" if v.whole else ""  # no -0.0
            return self.let(f"{v.name} * {other}{end}", v.type, v.shape, v.bound * bound, f"{other} * {v.name}{end}")
        bound = v.bound + bound
        if bound < inf and bound > limit:
            return None
        return self.let(f"{v.name} {op} {other}", v.type, v.shape, bound, f"{other} + {v.name}" if op == "+" else None)

    def unary(self):
        v = self.choose()
        if v.kind == "b":
            self.let(f"~{v.name}", "i1", v.shape, twin=f"{v.name} == 0")
        elif v.kind == "f":
            text = self.pick(f"tl.abs({v.name})", f"0.0 - {v.name}", "floor")
            if text == "floor":
                text = f"tl.floor({v.name}.to(tl.float32) * 0.5).to(tl.{TYPES[v.type][0]})"
            if v.whole:
                self.let(text, v.type, v.shape, v.bound + 1 if v.bound < TYPES[v.type][4] else v.bound)
        else:
            self.let(*self.pick((f"-{v.name}", v.type), (f"~{v.name}", v.type), (f"tl.abs({v.name})", v.type)), v.shape)

    def cast(self):
        self.cast_to(self.choose(), self.any_type())

    def compare(self):
        v = self.choose(lambda v: v.kind != "b")
        if v:
            op, back = self.pick(("<", ">"), ("<=", ">="), (">", "<"), (">=", "<="), ("==", "=="), ("!=", "!="))
            other = self.literal(v) if self.maybe(.3) else self.like(v.type, v.shape).name
            self.let(f"{v.name} {op} {other}", "i1", v.shape, twin=f"{other} {back} {v.name}")

    def where(self):
        v = self.choose(lambda v: v.kind != "b")
        if v:
            w, c = self.like(v.type, v.shape), self.like("i1", v.shape)
            self.let(f"tl.where({c.name}, {v.name}, {w.name})", v.type, v.shape, max(v.bound, w.bound),
                     f"tl.where({self.pick('~' + c.name, c.name + ' == 0')}, {w.name}, {v.name})")

    def logic(self):
        v = self.choose(lambda v: v.kind == "b")
        if v:
            w, op = self.like("i1", v.shape), self.pick("&", "|", "^")
            self.let(f"{v.name} {op} {w.name}", "i1", v.shape, twin=f"{w.name} {op} {v.name}")

    def call(self):
        v = self.choose(lambda v: v.kind in "iu" and v.bits >= 32)
        if not v:
            return
        w = self.like(v.type, v.shape)
        which = self.pick("mix", "mix", "power", "both", "tuple")
        if which == "mix":
            k = self.pick("", ", 5", ", k=2")
            self.let(f"mix({v.name}, {w.name}{k})", v.type, v.shape,
                     twin=f"mix({w.name}, {v.name}, {k[2:].replace('k=', '') or 3}, swap=True)")
        elif which == "power":
            n = self.pick(0, 1, 2, 4)
            self.let(f"power({v.name}, {n})", v.type, v.shape, twin=" * ".join([v.name] * n) or f"tl.full({self.tuple(v.shape)}, 1, tl.{TYPES[v.type][0]})"
                     if v.shape and not self.tiles else None)
        else:
            self.emit(f"t{self.names} = both({v.name}, {w.name})" if which == "both" else
                      f"t{self.names} = (({v.name}, {w.name}), {w.name} ^ {v.name})")
            self.let(f"t{self.names}[0][1] - t{self.names}[1] + t{self.names}[0][0]", v.type, v.shape)

    ELEMENTWISE = ["binary"] * 5 + ["unary", "cast", "cast", "compare", "where", "where", "logic", "call"]

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""generate.py: a seed → a kernel that is valid by construction, and its twin: another text that must store the same.

To what tiles.py does element by element come what changes shapes, sums and sorts, and loops and branches with tiles that
they change. A kernel is flat (one dimension, whose twin has other tiles), a product, of sizes that are no powers of two, or mixed."""
from math import prod

from tiles import FLOATS, LARGEST, LENGTH, TIMES, TYPES, Tiles, wider


class Kernel(Tiles):
    """The seed's kernel."""

    def reduce(self):
        v = self.choose(lambda v: len(v.shape) and v.whole)
        if not v:
            return
        axis = self.random.randrange(len(v.shape))
        keep = self.what != "padded" and self.maybe(.2)
        rest = v.shape[:axis] + ((1,) if keep else ()) + v.shape[axis + 1:]
        tail = f", axis={axis}" + (", keep_dims=True" if keep else "")
        v = self.cast_to(v, "i32") if v.kind == "b" else v
        ops = ["sum", "max", "min"] + (["xor_sum"] if v.kind in "iu" else [])
        op = self.pick(*ops, *(["argmax", "argmin", "own"] if self.what != "padded" else []))
        if op == "sum":
            if v.kind == "f":
                v = self.shrink(v, max(1, min(v.bound, TYPES[v.type][4] // v.shape[axis])))
                if v.bound * v.shape[axis] > TYPES[v.type][4]:
                    return
            type_ = v.type if v.kind == "f" else wider(v.type)
            self.let(f"tl.sum({v.name}{tail})", type_, rest, v.bound * v.shape[axis],
                     f"tl.reduce({v.name}.to(tl.{TYPES[type_][0]}), {axis}, add_up{', keep_dims=True' if keep else ''})"
                     if self.what != "padded" else None)
        elif op == "own":
            self.let(f"tl.reduce({v.name}, {axis}, {self.pick('larger', 'last')}{', keep_dims=True' if keep else ''})", v.type, rest, v.bound)
        elif op.startswith("arg"):
            self.let(f"tl.{op}({v.name}{tail})", "i32", rest)
        elif op == "xor_sum":
            v = self.cast_to(v, wider(v.type)) if v.bits < 32 else v
            self.let(f"tl.xor_sum({v.name}{tail})", v.type, rest)
        else:
            self.let(f"tl.{op}({v.name}{tail})", "i32" if v.bits < 32 and v.kind != "f" else wider(v.type), rest, v.bound)

    def scan(self):
        v = self.choose(lambda v: len(v.shape) and v.whole and v.kind != "b")
        if not v:
            return
        axis = self.random.randrange(len(v.shape))
        back = self.pick("", "", ", reverse=True") if self.what != "padded" else ""
        op = self.pick("cumsum", "cumsum", "cumprod", "own", "line")
        if v.kind == "f" and op in ("cumprod", "line"):
            op = "own"
        if op == "cumsum":
            if v.kind == "f":
                v = self.shrink(v, max(1, min(v.bound, TYPES[v.type][4] // v.shape[axis])))
                if v.bound * v.shape[axis] > TYPES[v.type][4]:
                    return
            self.let(f"tl.cumsum({v.name}, axis={axis}{back})", v.type if v.kind == "f" else wider(v.type), v.shape,
                     v.bound * v.shape[axis])
        elif op == "cumprod":
            self.let(f"tl.cumprod({v.name}, axis={axis}{back})", wider(v.type), v.shape)
        elif self.what == "padded":
            return
        elif op == "own":
            self.let(f"tl.associative_scan({v.name}, {axis}, {self.pick('larger', 'last')}{back})", v.type, v.shape, v.bound)
        elif v.bits >= 32:
            w = self.like(v.type, v.shape)
            self.emit(f"s{self.names}, t{self.names} = tl.associative_scan(({v.name}, {w.name}), {axis}, line{back})")
            self.let(f"s{self.names} ^ t{self.names}", v.type, v.shape)

    def reform(self):
        """Another shape of the same elements."""
        v = self.choose(lambda v: len(v.shape))
        if not v:
            return
        size, rank = prod(v.shape), len(v.shape)
        which = self.pick("reshape", "trans", "permute", "expand", "broadcast", "join", "split", "cat", "flip", "interleave", "ravel")
        if which == "reshape" and 16 <= size:
            shape = self.shape()
            for _ in range(30):
                if prod(shape) == size:
                    twin = f"{v.name}.ravel().reshape({', '.join(map(str, shape))})"
                    return self.let(f"tl.reshape({v.name}, {self.tuple(shape)})", v.type, shape, v.bound, twin)
                shape = self.shape()
        elif which == "trans" and rank == 2:
            self.let(self.pick(f"tl.trans({v.name})", f"{v.name}.T"), v.type, v.shape[::-1], v.bound, f"tl.permute({v.name}, (1, 0))")
        elif which == "permute" and rank == 3:
            to = self.random.sample(range(3), 3)
            self.let(f"tl.permute({v.name}, {tuple(to)})", v.type, tuple(v.shape[i] for i in to), v.bound)
        elif which == "expand" and rank < 3:
            axis = self.random.randrange(rank + 1)
            self.let(f"tl.expand_dims({v.name}, {axis})", v.type, v.shape[:axis] + (1,) + v.shape[axis:], v.bound)
        elif which == "broadcast" and 1 in v.shape:
            shape = tuple(s if s > 1 else self.pick(2, 8) for s in v.shape)
            if prod(shape) <= LARGEST:
                self.let(f"tl.broadcast_to({v.name}, {self.tuple(shape)})", v.type, shape, v.bound)
        elif which in ("join", "interleave", "cat") and size * 2 <= LARGEST and (rank < 3 or which == "interleave"):
            w = self.like(v.type, v.shape)
            bound = max(v.bound, w.bound)
            joined = v.shape + (2,)
            if which == "cat":
                if rank == 1:
                    twin = f"tl.permute(tl.join({v.name}, {w.name}), (1, 0)).reshape({v.shape[0] * 2})"
                    self.let(f"tl.cat({v.name}, {w.name})", v.type, (v.shape[0] * 2,), bound, twin)
            elif which == "interleave":
                self.let(f"tl.interleave({v.name}, {w.name})", v.type, v.shape[:-1] + (v.shape[-1] * 2,), bound)
            else:
                self.let(f"tl.join({v.name}, {w.name})", v.type, joined, bound)
        elif which == "split" and v.shape[-1] == 2 and rank > 1:
            self.emit(f"s{self.names}, t{self.names} = tl.split({v.name})")
            name = self.names
            self.let(f"s{name}", v.type, v.shape[:-1], v.bound)
            self.let(f"t{name}", v.type, v.shape[:-1], v.bound)
        elif which == "flip":
            axis = self.random.randrange(rank)
            self.let(f"tl.flip({v.name}, {axis})", v.type, v.shape, v.bound)
        elif which == "ravel":
            self.let(f"tl.ravel({v.name})", v.type, (size,), v.bound)

    def gather(self):
        v = self.choose(lambda v: len(v.shape))
        if not v:
            return
        axis = self.random.randrange(len(v.shape))
        i = self.like("i32", v.shape)
        self.let(f"tl.gather({v.name}, {i.name} & {v.shape[axis] - 1}, {axis})", v.type, v.shape, v.bound)

    def look_up(self):
        """A load from where an integer says."""
        i = self.choose(lambda v: v.kind in "iu" and v.shape)
        if i:
            type_, most = self.pick("i32", "fp16", "u8", "i64"), 63 if i.bits == 8 else 1023
            self.let(f"tl.load({self.use('x', type_)} + ({i.name} & {most}))", type_, i.shape, 4 if type_ == "fp16" else 0)

    def sort(self):
        v = self.choose(lambda v: v.shape and v.kind != "b" and v.whole and 2 <= v.shape[-1] <= 64 and prod(v.shape) <= 512 and len(v.shape) < 3)
        if v and self.maybe(.5):
            down = self.pick("", ", descending=True")
            self.let(f"tl.sort({v.name}{down})", v.type, v.shape, v.bound, f"tl.flip(tl.sort({v.name}{'' if down else ', descending=True'}), {len(v.shape) - 1})")
        v = self.choose(lambda v: v.type in ("i32", "u32") and len(v.shape) == 1 and v.shape[0] <= 512)
        if v and self.maybe(.5):
            self.let(f"tl.histogram({v.name} & 15, 16)", "i32", (16,))

    def described(self):
        """A block of a tensor of 2 dimensions, by a descriptor or a block pointer; parts of it lie outside."""
        type_ = self.pick("fp16", "i32", "i8", "fp32", "bf16")
        rows, cols = self.pick(8, 16, 32), self.pick(16, 32, 64)
        shape, first = (self.pick(40, 64), 64), (self.pick("0", "pid * 8", "n", "-3"), self.pick("0", "16", "-8", "24"))
        pointer, bound = self.use("x", type_), 4 if type_ in FLOATS else 0
        block = self.let(f"tl.load(tl.make_block_ptr({pointer}, shape=({shape[0]}, {shape[1]}), strides=(64, 1), offsets=({first[0]}, {first[1]}), "
                         f"block_shape=({rows}, {cols}), order=(1, 0)), boundary_check=(0, 1), padding_option='zero')", type_, (rows, cols), bound,
                         f"tl.make_tensor_descriptor({pointer}, shape=[{shape[0]}, {shape[1]}], strides=[64, 1], "
                         f"block_shape=[{rows}, {cols}]).load([{first[0]}, {first[1]}])")
        if self.maybe(.5):  # the kernel with the descriptor, the twin with the block pointer
            line, twin = self.body.pop()
            self.body.append((twin, line))
        return block

    def atomic(self):
        """Of many programs in one place, by an operation that any order suits."""
        v = self.choose(lambda v: v.type in ("i32", "u32", "i64", "fp32") and v.shape and v.whole)
        if not v or self.deep:
            return
        ops = ["add"] if v.kind == "f" else ["add", "add", "max", "min", "or", "xor"]
        if v.kind == "f":
            v = self.shrink(v, 64)
        i, size = self.like("i32", v.shape), 64
        name = self.use("c", v.type)
        at = self.stored.get(name, 0)
        self.stored[name] = at + size
        mask = self.pick("", f", mask={i.name} > 0")
        self.emit(f"tl.atomic_{self.pick(*ops)}({name} + {at} + ({i.name} & {size - 1}), {v.name}{mask})")

    SHAPED = ["reduce"] * 3 + ["scan"] * 2 + ["reform"] * 5 + ["gather", "look_up", "sort", "described", "atomic"]

    # ---- statements ----
    def carried(self):
        """A value of its own that blocks may change."""
        v = self.choose(lambda v: v.kind in "iu" or (v.kind == "f" and v.bound <= 8))
        if v:
            v = self.let(v.name, v.type, v.shape, v.bound)
        return v

    def change(self, v, steps):
        """Statements that end in the carried value's change."""
        for _ in range(steps):
            self.step()
        w = self.like(v.type, v.shape, True)
        if v.kind == "f":
            w = self.shrink(w, 8)
            op = self.pick("min", "max")
            text = f"tl.{op}imum({v.name}, {w.name})"
        else:
            op = self.pick("+", "^", "*", "-", "&")
            text = f"({v.name} {op} {w.name}).to(tl.{TYPES[v.type][0]})"
        self.emit(f"{v.name} = {text}")

    def scalar(self):
        """A condition, of this program or of what it read."""
        if self.tiles:  # programs of the twin are others
            return self.pick("n > 2", "n % 2 == 1", "n != 0")
        v = self.choose(lambda v: not v.shape and v.kind in "iu")
        return self.pick("n > 2", "pid == 0", "pid % 2 == 1", "n == pid", *([f"{v.name} > 3", f"{v.name} % 2 == 0"] if v else []))

    def branch(self):
        v, condition = self.carried(), self.scalar()
        if not v:
            return
        bound = v.bound
        arms = []
        for steps in (self.pick(0, 1, 2), self.pick(0, 1)):
            body, self.body = self.body, []
            with self.block("arm"):
                self.change(v, steps)
            arms.append(self.body[0][1])
            self.body = body
        v.bound = 8 if v.kind == "f" else bound
        self.body.append(("if", condition, *arms))

    def loop(self):
        v = self.carried()
        if not v:
            return
        v.bound = 8 if v.kind == "f" else 0
        i, steps = f"i{self.names}", self.pick(0, 1, 2, 3)
        self.names += 1
        form = self.pick("for", "for", "stages", "while", "static", "constant", "break")
        if form == "while":
            self.emit(f"{i} = n")
            with self.block("block", f"while {i} > 0:"):
                self.change(v, steps)
                self.emit(f"{i} -= 1")
        elif form == "static":
            with self.block("block", f"for {i} in tl.static_range({self.pick(1, 2, 3)}):"):
                self.change(v, min(steps, 1))
        elif form == "constant":
            with self.block("block", f"if {self.pick('2 > 1', 'tl.constexpr(3) == 3')}:"):
                self.change(v, steps)
        else:
            options = f", num_stages={self.pick(1, 2, 3)}" if form == "stages" else ""
            with self.block("for", i, self.pick("0", "0", "1"), "n", options + (", 1" if form == "break" else "")):
                if v.kind in "iu" and self.maybe(.5):
                    self.load(v.type, v.shape, f" + {i} * {self.pick(1, 16, 64)}")
                self.change(v, steps)
                if form == "break":
                    with self.block("block", f"if {i} {self.pick('==', '>')} {self.pick(0, 1, 2)}:"):
                        self.emit("break")

    def step(self):
        names = list(self.ELEMENTWISE)
        if not self.tiles and self.what != "padded":
            names += self.SHAPED
        if self.what == "padded":
            names += ["reduce", "reduce", "scan"]
        if self.deep < 2:
            names += ["branch", "loop", "loop"]
        getattr(self, self.pick(*names))()

    def store(self, v, part=None):
        """part: a dimension, and how much of it; nothing else of the tile is wanted then."""
        name = self.use("o", v.type)
        at = self.stored.get(name, 0)
        if self.tiles:
            self.stored[name] = at + 1
            return self.emit(f"tl.store({name} + {at * LENGTH} + at, {v.name}, mask=inside)")
        self.stored[name] = at + (prod(v.shape) + 15) // 16 * 16  # so that each begins where a descriptor may
        order, stride, terms = list(range(len(v.shape)))[::-1], 1, []
        if self.maybe(.2):
            order.reverse()
        for axis in order:
            terms.append(f"{self.range_of(v.shape, axis)} * {stride}")
            stride *= v.shape[axis]
        mask = f", mask={self.range_of(v.shape, part[0])} < {part[1]}" if part else ""
        if not part and v.shape and self.maybe(.3):
            axis = self.random.randrange(len(v.shape))
            mask = f", mask={self.range_of(v.shape, axis)} {self.pick('!= 1', '< n + 3')}"
        place = [name, str(at), f"pid * STORED_{name}"]
        line = f"tl.store({' + '.join([*place, *reversed(terms)])}, {v.name}{mask})"
        if mask or self.what == "padded" or len(v.shape) != 2 or v.kind == "b" or v.shape[1] * v.bits < 128 or order[0] == 0 or self.maybe(.6):
            return self.emit(line)
        rows, cols = v.shape
        by = f"tl.make_tensor_descriptor({' + '.join(place)}, shape=[{rows}, {cols}], strides=[{cols}, 1], block_shape=[{rows}, {cols}])"
        self.emit(*self.pick((line, f"{by}.store([0, 0], {v.name})"), (f"{by}.store([0, 0], {v.name})", line)))

    def finish(self, part=None):
        """Stores what came last, and some of the rest, or part of a tile alone, and the distances that are known now."""
        if part:
            self.store(*part)
        for v in {v.name: v for v in [*self.env[-4:], *[self.choose() for _ in range(2)]]}.values() if not part else ():
            self.store(v)

        def known(nodes):
            for i, node in enumerate(nodes):
                if isinstance(node, tuple):
                    nodes[i] = tuple(known(part) if isinstance(part, list) else self.fill(part) for part in node)
            return nodes
        known(self.body)

    def fill(self, text):
        for name, size in self.stored.items():
            text = text.replace(f"STORED_{name})", f"{size})").replace(f"STORED_{name} ", f"{size} ").replace(f"STORED_{name},", f"{size},")
        return text

    # ---- kinds of kernels ----
    def flat(self):
        self.grid, self.programs = (1,), 1
        for _ in range(self.pick(1, 2, 3)):
            self.load(self.any_type(), ("BLOCK",))
        for _ in range(self.pick(4, 8, 12)):
            self.step()
        self.finish()

    def padded(self):
        shape = self.pick((24,), (48,), (80,), (16, 24), (48, 8), (4, 40), (24, 16))
        for _ in range(2):
            self.load(self.pick("i32", "fp32", "fp16", "i8", "u32", "bf16"), shape)
        for _ in range(self.pick(3, 6)):
            self.step()
        self.finish()

    def mixed(self):
        shape = self.shape()
        for _ in range(self.pick(1, 2, 3)):
            self.load(self.any_type(), shape if self.maybe(.6) else self.shape())
        self.load("i32", ())
        for _ in range(self.pick(3, 6, 10, 14)):
            self.step()
        self.finish()

    def dot(self):
        """A sum of products in a loop, and what becomes of it."""
        type_ = self.pick("fp16", "fp16", "bf16", "i8")
        if self.seed % 4 == 3:  # of sizes that are no powers of two, which less can be done with
            self.what = "padded"
        part = self.maybe(.3) and self.what != "padded"  # rows, or columns, that nobody stores
        m, n = (self.pick(64, 64, 128), self.pick(32, 64, 64)) if part else (self.pick(16, 32, 64), self.pick(16, 32, 64))
        k = self.pick(32, 64) if type_ == "i8" else self.pick(16, 32, 64)
        if self.what == "padded":
            m, n, k = (self.pick(24, 40, 48, 56, 64, 72, 80, 96, 112, 120) for _ in range(3))
        sum_ = "i32" if type_ == "i8" else "fp32"
        acc = self.let(f"tl.zeros(({m}, {n}), dtype=tl.{TYPES[sum_][0]})", sum_, (m, n))
        still = self.load(type_, (m, k)) if self.maybe(.3) else None
        blocks = self.maybe(.35) and self.what != "padded" and self.use("x", type_)  # of a tensor by a descriptor, in the twin by a block pointer
        if blocks:
            tensor = f"{blocks}, shape=[{self.pick(40, 64)}, {self.pick(96, 128)}], strides=[128, 1]"
            self.emit(f"da = tl.make_tensor_descriptor({tensor}, block_shape=[{m}, {k}])")
            self.emit(f"db = tl.make_tensor_descriptor({tensor}, block_shape=[{n}, {k}])")
        fused, self.fused = self.fused, True  # whole numbers alone
        options = self.pick("", f", num_stages={self.pick(1, 2, 3, 4)}", ", num_stages=3", ", warp_specialize=True")
        i = f"i{self.names}"
        self.names += 1
        with self.block("for", i, "0", "n", options):
            def block(of, rows):
                return self.let(f"d{of}.load([0, {i} * {k}])", type_, (rows, k), 4 if type_ != "i8" else 0,
                                f"tl.load(tl.make_block_ptr({tensor}, offsets=(0, {i} * {k}), block_shape=({rows}, {k}), order=(1, 0)), "
                                "boundary_check=(0, 1), padding_option='zero')")
            a = still if still and still.whole else block("a", m) if blocks else self.load(type_, (m, k), f" + {i} * {self.pick(64, 256, 512)}")
            b = block("b", n) if blocks else self.load(type_, (n, k) if self.maybe(.4) else (k, n), f" + {i} * {self.pick(64, 256, 512)}")
            turned = b.shape != (k, n) or blocks
            name = f"{b.name}.T" if turned or (n == k and self.maybe(.5)) else b.name
            out = ", out_dtype=tl.int32" if type_ == "i8" else ""
            self.emit(f"{acc.name} = tl.dot({a.name}, {name}, {acc.name}{out})", f"{acc.name} += tl.dot({a.name}, {name}{out})")
        self.fused, acc.bound = fused, 0 if type_ == "i8" else 16 * k * TIMES
        if part:
            dim = self.pick(0, 0, 1)
            return self.finish((acc, (dim, self.pick(5, 8, 9) * (m, n)[dim] // 16)))
        self.load("i32", ())
        if self.maybe(.3) and type_ != "i8":
            small = self.cast_to(self.shrink(acc, 16), type_)
            width = self.pick(16, 48, 80) if self.what == "padded" else 16
            other = self.load(type_, (n, width))
            if other.whole:
                self.let(f"tl.dot({small.name}, {other.name})", "fp32", (m, width), 16 * 4 * n)
        for _ in range(self.pick(0, 2, 5)):
            self.step()
        self.finish()

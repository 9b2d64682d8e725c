# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fused.py BIN [--device=ptx:sm_90a] [SEED | FROM-TO]…: random products with what is written around them, by the numbers of their seeds.

Rows that an index gathers, weights of fewer bits, blocks that are left out, two products of one factor, or one of another's result; loops
that run backwards, in two pieces, over places, or are one of several parts of a sum; then vectors, residuals, reductions and selections,
and stores of halves, of transposed tiles, by descriptors and by atomics. In whole numbers, what a launch stores by the entry
that it chooses on the device must be what the CPU device stores; so must what the further entry stores, chosen or not.
Prints what is wrong and the command that shows it, whose files stay then, and how many passed and failed."""
import sys
from functools import partial

from source import Launched, run_seeds, try_launched

HEAD = '''import triton
import triton.language as tl


@triton.jit
def fused(a_ptr: "*{a}{aligned}", b_ptr: "*{b}{aligned}", c_ptr: "*{c}{aligned}", d_ptr: "*fp32", r_ptr: "*{r}{aligned}", v_ptr: "*fp32",
          i_ptr: "*i32", M: "i32", N: "i32{even}", K: "i32{even}", BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
'''
# of both factors, what is stored, bytes of a factor
TYPES = [("fp16", "fp16", ("fp16", "fp32"), 2)] * 4 + [("bf16", "bf16", ("bf16", "fp32"), 2), ("fp16", "i8", ("fp16",), 1),
                                                       ("i8", "i8", ("i32",), 1), ("fp32", "fp32", ("fp32",), 4)]
NAMES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "i8": "int8", "i32": "int32"}
CONFIGS = [(64, 64, 64, 4, 2), (128, 64, 64, 4, 3), (64, 128, 64, 4, 3), (128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (64, 256, 64, 8, 4),
           (64, 64, 32, 4, 3), (128, 128, 32, 4, 2), (32, 64, 64, 4, 3), (16, 128, 64, 4, 4)]  # blocks, warps, stages
PARTS = 3  # of a sum, or planes


class Fused(Launched):
    """A kernel, and what it is launched with."""

    def __init__(self, seed):
        super().__init__(seed)
        self.plain = self.maybe(.6)  # what roles take, but for what is written around it
        self.a, self.b, stored, width = self.pick(*TYPES[:5] if self.plain else TYPES)
        self.c = self.pick(*stored)
        self.whole = self.c == "i32"
        self.bm, self.bn, self.bk, self.warps, self.stages = self.pick(*CONFIGS[:6] if self.plain else CONFIGS)
        if self.a == "fp32":
            self.bm, self.bn, self.bk, self.warps = 64, 64, 32, 4
        self.bk = max(self.bk, 32 if width == 1 else 16)
        self.aligned = self.plain or self.maybe(.8)
        unit = 16 if self.aligned else self.pick(1, 4, 8, 16)
        self.m = self.pick(self.random.randint(1, 2 * self.bm), self.bm, 2 * self.bm)
        self.n = unit * self.random.randint(1, 2 * self.bn // unit)
        self.k = unit * self.random.randint(1, 5 * self.bk // unit)
        self.by = self.pick("pointers", "pointers", "pointers", "walk", "walk", "descriptors", "blocks")
        self.nest = self.pick("", "", "", "", "planes", "taps") if self.by == "pointers" else ""
        if self.by == "descriptors" and not self.aligned:
            self.by = "pointers"
        self.index = "" if self.plain else self.pick("", "rows", "expert", "skipped")
        if self.by not in ("pointers", "walk") and self.index in ("rows", "expert"):
            self.index = ""
        self.what = self.pick("", "", "", "", "" if self.plain else "gated", "chained", "split")
        if self.whole or self.b == "i8":
            self.what = self.pick("", "", "split") if self.whole else ""
        if self.what == "chained" and (self.a == "fp32" or self.bn > 128 or self.bm < 64):
            self.what = ""
        self.others = ["", "2"] if self.what == "gated" else [""]  # second factors
        if self.what == "split":
            self.c = "i32" if self.whole else "fp32"
        self.second = self.pick("", "", "planes") if self.what != "split" else "split"
        self.size_r = 1

    def tiles(self):
        return -(-self.m // self.bm) * -(-self.n // self.bn)

    def places(self):
        """The block's place; the grid."""
        way = self.pick("one", "one", "two", "grouped", "back", "back" if self.plain else "loop")
        if self.second and way == "two":
            way = "one"
        rows, columns = -(-self.m // self.bm), -(-self.n // self.bn)
        self.emit("rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)")
        grid = [self.tiles(), 1, 1]
        if way == "two":
            self.emit("pm, pn = tl.program_id(0), tl.program_id(1)")
            grid = [rows, columns, 1]
        elif way == "loop":
            grid[0] = self.random.randint(1, self.tiles())
            words = self.pick("range(", "range(", "tl.range(", "tl.range(")
            more = self.pick("", ", warp_specialize=True", ", num_stages=2") if words.startswith("tl") else ""
            self.emit(f"for place in {words}tl.program_id(0), rows * columns, tl.num_programs(0){more}):")
            self.depth += 1
            self.emit(self.pick("pm, pn = place % rows, place // rows", "pm, pn = place // columns, place % columns"))
        elif way == "grouped":
            self.emit("place = tl.program_id(0)")
            self.emit("first = place // (2 * columns) * 2")
            self.emit("many = tl.minimum(rows - first, 2)")
            self.emit("pm, pn = first + place % (2 * columns) % many, place % (2 * columns) // many")
        else:
            self.emit("place = tl.program_id(0)" if way == "one" else "place = rows * columns - 1 - tl.program_id(0)")
            self.emit("pm, pn = place % rows, place // rows")
        if self.second:
            self.emit("z = tl.program_id(1)")
            grid[1] = self.random.randint(1, PARTS)
        self.grid = grid
        if self.maybe(.05):
            self.emit("if pm * BM >= M:")
            self.emit("    pm = 0" if way == "loop" else "    return")

    def planes(self):
        """The bases of the place's matrices."""
        for x, size in (("a", "M * K"), ("b", "K * N"), ("c", "M * N")):
            at = f"{x}_ptr"
            if self.second == "planes" and (x != "b" or self.maybe(.5)):
                at += f" + z{self.pick('', '.to(tl.int64)')} * ({size})"
            if x == "b" and self.index == "expert":
                at += " + tl.load(i_ptr + pm) * K * N"
            self.emit(f"{x}s = {at}")

    def coordinates(self):
        self.emit("m = pm * BM + tl.arange(0, BM)")
        self.emit("n = pn * BN + tl.arange(0, BN)")
        self.emit("k = tl.arange(0, BK)")
        self.in_m = True
        if self.index == "rows":
            self.emit("row = tl.load(i_ptr + m, mask=m < M, other=0)")
        else:
            self.in_m = self.maybe(.9 if self.plain else .5)
            self.emit("row = m" if self.in_m else "row = m % M")
        self.in_n = self.maybe(.9 if self.plain else .5)
        self.emit("column = n" if self.in_n else "column = n % N")

    def load(self, x, at, other=""):
        """Of a block of a factor that begins at number `at` of K; in a loop that walks the pointers are there."""
        if self.by == "descriptors":
            place = f"[pm * BM, {at}]" if x == "a" else f"[{at}, pn * BN]"
            return self.let(f"{x}{other}_desc.load({place})")
        if self.by == "blocks":
            return self.let(f'tl.load({x}{other}_block, boundary_check=(0, 1), padding_option="zero")')
        inner, bounded = f"({at} + k < K)", self.in_m if x == "a" else self.in_n
        limit = "M" if x == "a" else "N"
        index = "n" if x == "b" else "m + e" if self.nest == "taps" else "m"
        bounded = bounded or index == "m + e"
        outer = f" & ({index} < {limit})" if bounded else ""
        along, across = ("[None, :]", "[:, None]") if x == "a" else ("[:, None]", "[None, :]")
        mask = inner + along + (outer and outer + across)
        pointers = f"{x}{other}_walk" if self.by == "walk" else self.pointers(x, at, other)
        return self.let(f"tl.load({pointers}, mask={mask}, other=0)")

    def pointers(self, x, at, other=""):
        more = " + K * N" * bool(other)
        if self.nest and (x == "a") == (self.nest == "planes"):
            more += " + e * M * K" if x == "a" else " + e * K * N"
        if x == "a":
            row = "(row + e)" if self.nest == "taps" else "row"
            return f"as_{more} + {row}[:, None] * K + ({at} + k)[None, :]"
        if self.along:
            return f"bs{more} + column[None, :] * K + ({at} + k)[:, None]"
        return f"bs{more} + ({at} + k)[:, None] * N + column[None, :]"

    def prepare(self):
        """What loops begin with."""
        self.along = self.maybe(.25) and self.by in ("pointers", "walk")
        sums = "tl.int32" if self.whole else "tl.float32"
        for o in self.others:
            self.emit(f"acc{o} = tl.zeros((BM, BN), dtype={sums})")
            more = " + K * N" * bool(o)
            if self.by == "descriptors":
                if not o:
                    self.emit("a_desc = tl.make_tensor_descriptor(as_, [M, K], [K, 1], [BM, BK])")
                self.emit(f"b{o}_desc = tl.make_tensor_descriptor(bs{more}, [K, N], [N, 1], [BK, BN])")

    def begin(self, first):
        """The pointers of a loop that begins at number `first` of K."""
        if self.by == "walk":
            self.emit(f"a_walk = {self.pointers('a', first)}")
            for o in self.others:
                self.emit(f"b{o}_walk = {self.pointers('b', first, o)}")
        if self.by == "blocks":
            self.emit(f"a_block = tl.make_block_ptr(as_, (M, K), (K, 1), (pm * BM, {first}), (BM, BK), (1, 0))")
            for o in self.others:
                more = " + K * N" * bool(o)
                self.emit(f"b{o}_block = tl.make_block_ptr(bs{more}, (K, N), (N, 1), ({first}, pn * BN), (BK, BN), (1, 0))")

    def go_on(self):
        if self.by == "walk":
            self.emit("a_walk += BK")
            for o in self.others:
                self.emit(f"b{o}_walk += BK" if self.along else f"b{o}_walk += BK * N")
        if self.by == "blocks":
            self.emit("a_block = tl.advance(a_block, (0, BK))")
            for o in self.others:
                self.emit(f"b{o}_block = tl.advance(b{o}_block, (BK, 0))")

    def product(self, at, twice):
        """A block of K from number `at` on."""
        a, wide = self.load("a", at), NAMES[self.a]
        if self.a in ("fp16", "bf16") and not self.plain:
            if self.maybe(.15):
                a = self.let(f"tl.maximum({a}, 0.0)")
            if self.maybe(.15):
                v = self.let(f"tl.load(v_ptr + {at} + k, mask={at} + k < K, other=0.0)")
                a = self.let(f"({a} * {v}[None, :]).to(tl.{wide})")
            if twice:
                a = self.let(f"{a} + {a}")
        for o in self.others:
            b = self.load("b", at, o)
            if self.b == "i8" and self.a != "i8":
                b = self.let(f"{b}.to(tl.{wide})")
            elif self.a in ("fp16", "bf16") and not self.plain and self.maybe(.1):
                v = self.let("tl.load(v_ptr + n, mask=n < N, other=0.0)")
                b = self.let(f"({b} * {v}[None, :]).to(tl.{wide})")
            more = ", out_dtype=tl.int32" * self.whole
            self.emit(self.pick(f"acc{o} += tl.dot({a}, {b}{more})", f"acc{o} = tl.dot({a}, {b}, acc{o}{more})"))

    def nested(self, first, end, twice=False):
        """The loop, over planes or rows further down too."""
        if self.nest:
            self.emit(f"for e in {self.pick('range(', 'tl.range(', 'tl.static_range(')}2):")
            self.depth += 1
        self.loop(first, end, twice)
        if self.nest:
            self.depth -= 1

    def turn(self, at, twice):
        if self.index == "skipped":
            self.emit(f"if tl.load(i_ptr + {at} // BK) != 0:")
            self.depth += 1
        self.product(at, twice)
        if self.index == "skipped":
            self.depth -= 1

    def loop(self, first, end, twice=False):
        """Over the numbers of K from `first` to `end`."""
        way = self.pick("first", "first", "turn", "turn" if self.plain else "while", "back")
        if self.by in ("walk", "blocks") and way == "back":
            way = "turn"
        words = self.pick("range(", "range(", "tl.range(")
        more = ""
        if words == "tl.range(":
            more = self.pick("", ", num_stages=2", ", num_stages=4", ", warp_specialize=True", ", loop_unroll_factor=2")
        self.blocks(way, words, more, first, end, "BK", twice)

    def loops(self):
        self.prepare()
        if self.second == "split":
            self.emit("each = tl.cdiv(tl.cdiv(K, BK), tl.num_programs(1)) * BK")
            self.emit("start, end = z * each, tl.minimum(z * each + each, K)")
            self.nested("start", "end")
        elif self.maybe(.2):
            self.emit("half = K // 2 // BK * BK")
            self.nested("0", "half")
            self.nested("half", "K", self.maybe(.5))
        elif self.maybe(.1):  # what of K lies below the diagonal
            self.emit("last = tl.minimum((pm + 1) * BM, K)")
            self.nested("0", "last")
        else:
            self.nested("0", "K")

    def finish(self):
        """Of the sums what is stored."""
        if self.what == "gated":
            self.emit("acc = tl.maximum(tl.minimum(acc, 100.0), -100.0) * tl.maximum(tl.minimum(acc2, 50.0), 0.0)")
        if self.what == "chained":  # by a square of r
            wide = NAMES[self.a]
            self.emit("j = tl.arange(0, BN)")
            self.emit("w = tl.load(r_ptr + j[:, None] * BN + j[None, :])")
            self.emit(f"acc = tl.dot(tl.maximum(tl.minimum(acc, 60.0), -60.0).to(tl.{wide}), w)")
            self.size_r = self.bn * self.bn
        if self.what == "split":
            return
        zero, sums = "0" if self.whole else "0.0", 0
        for _ in range(self.pick(0, 1, 1, 2, 3)):
            op = self.pick("relu", "column", "row", "residual", "causal", "top", "sums", "sums", "round", "scalar", "branch")
            if op == "relu":
                self.emit(f"acc = tl.maximum(acc, {zero})")
            elif op in ("column", "row"):
                x, size, spread = ("n", "N", "[None, :]") if op == "column" else ("m", "M", "[:, None]")
                v = self.let(f"tl.load(v_ptr + {x}, mask={x} < {size}, other=0.0){'.to(tl.int32)' if self.whole else ''}")
                self.emit(f"acc {self.pick('+=', '+=', '*=')} {v}{spread}")
            elif op == "residual" and self.what != "chained":
                r = self.let("tl.load(r_ptr + m[:, None] * N + n[None, :], mask=(m < M)[:, None] & (n < N)[None, :], other=0)")
                self.emit(f"acc += {r}" if not self.whole else f"acc += {r}.to(tl.int32)")
                self.size_r = self.m * self.n
            elif op == "scalar":
                self.emit(f"acc *= tl.load(v_ptr + pm){'.to(tl.int32)' if self.whole else ''}")
            elif op == "branch":
                self.emit(f"if {self.pick('pn == 0', 'pm > 0', 'tl.load(v_ptr + pn) > 0')}:")
                self.emit(f"    acc = tl.maximum(acc, {zero}) * 2")
            elif op == "causal":
                self.emit(f"acc = tl.where(m[:, None] >= n[None, :], acc, {zero})")
            elif op == "top":
                self.emit("acc -= tl.max(acc, axis=1)[:, None]")
            elif op == "round" and not self.whole:
                self.emit("acc = acc.to(tl.float16).to(tl.float32)")
            elif op == "sums" and self.second != "planes" and not self.whole and sums < 3:
                sums += 1
                axis = self.pick(0, 1)
                x, size, other = ("m", "M", "pn") if axis else ("n", "N", "pm")
                bounded = "tl.maximum(tl.minimum(acc, 200.0), -200.0)"
                total = self.let(f"tl.sum({bounded}, axis={axis})")
                if self.maybe(.5):
                    self.emit(f"tl.atomic_add(d_ptr + {x}, {total}, mask={x} < {size})")
                else:
                    self.emit(f"tl.store(d_ptr + {2 * sums * self.size_d} + {other} * {size} + {x}, {total}, mask={x} < {size})")

    def store(self):
        out, mask = NAMES[self.c], "(m < M)[:, None] & (n < N)[None, :]"
        if self.what == "split":
            self.emit(f"tl.atomic_add(cs + m[:, None] * N + n[None, :], acc, mask={mask})")
            return
        way = self.pick("rows", "rows", "rows", "rows" if self.plain else "across", "halves", "block", "descriptor", "masked", "twice")
        if way == "descriptor" and not self.aligned:
            way = "rows"
        if way in ("rows", "twice"):
            self.emit(f"tl.store(cs + m[:, None] * N + n[None, :], acc.to(tl.{out}), mask={mask})")
            if way == "twice" and self.second != "planes" and not self.whole:
                self.emit(f"tl.store(d_ptr + {8 * self.size_d} + m[:, None] * N + n[None, :], acc, mask={mask})")
        elif way == "across":
            self.emit(f"tl.store(cs + m[:, None] + n[None, :] * M, acc.to(tl.{out}), mask={mask})")
        elif way == "masked":
            self.emit(f"tl.store(cs + m[:, None] * N + n[None, :], acc.to(tl.{out}), mask={mask} & (n % 3 != 1)[None, :])")
        elif way == "block":
            self.emit("c_block = tl.make_block_ptr(cs, (M, N), (N, 1), (pm * BM, pn * BN), (BM, BN), (1, 0))")
            self.emit(f"tl.store(c_block, acc.to(tl.{out}), boundary_check=(0, 1))")
        elif way == "descriptor":
            self.emit("c_desc = tl.make_tensor_descriptor(cs, [M, N], [N, 1], [BM, BN])")
            self.emit(f"c_desc.store([pm * BM, pn * BN], acc.to(tl.{out}))")
        else:
            self.emit("low, high = tl.split(tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1)))")
            self.emit("h = pn * BN + tl.arange(0, BN // 2)")
            for part, step in (("low", "0"), ("high", "BN // 2")):
                self.emit(f"h += BK")
                self.emit(f"tl.store(cs + m[:, None] * N + h[None, :], {part}.to(tl.{out}), mask=(m < M)[:, None] & (h < N)[None, :])")

    def write(self):
        self.size_d = max(self.m * -(-self.n // self.bn), self.n * -(-self.m // self.bm), 16)
        self.places()
        self.planes()
        self.coordinates()
        self.loops()
        self.finish()
        self.store()
        even = ":16" if self.aligned else ""
        head = HEAD.format(a=self.a, b=self.b, c=self.c, r=self.a if self.a != "i8" else "i32", aligned=even, even=even)
        return head + "\n".join(self.lines).replace("as =", "as_ =") + "\n"

    def split(self):
        return ["--stream-k=auto"] if self.maybe(.2) else []

    def constants(self):
        return {"BM": self.bm, "BN": self.bn, "BK": self.bk}

    @staticmethod
    def stored():
        return "cd"

    def arguments(self, _stem):
        planes = PARTS
        few = "randint(-3,4)"
        indices = {"rows": f"randint(0,{self.m}):i32[{self.m}]", "expert": f"randint(0,2):i32[{-(-self.m // self.bm)}]"}
        kind_r = self.a if self.a != "i8" else "i32"
        return [f"a_ptr={few}:{self.a}[{(planes + 2) * self.m * self.k}]", f"b_ptr={few}:{self.b}[{(planes + 2) * self.k * self.n}]",
                f"c_ptr=zeros:{self.c}[{planes * self.m * self.n}]",
                f"d_ptr=zeros:fp32[{8 * self.size_d + self.m * self.n}]", f"r_ptr={few}:{kind_r}[{max(self.size_r, 16)}]",
                f"v_ptr=randint(-2,3):fp32[{max(self.m, self.n, self.k)}]",
                f"i_ptr={indices.get(self.index, f'randint(0,2):i32[{-(-self.k // self.bk)}]')}",
                f"M={self.m}", f"N={self.n}", f"K={self.k}"]


if __name__ == "__main__":
    sys.exit(run_seeds("fused", partial(try_launched, "fused", Fused)))

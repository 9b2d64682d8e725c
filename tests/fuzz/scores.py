# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scores.py BIN [--device=ptx:sm_90a] [SEED | FROM-TO]…: random attention, by the numbers of their seeds.

Masks of causes, windows and lengths, biases, slopes, pages of keys, heads that share them, sums that begin with something, loops
that run backwards, in two pieces or in one of several parts; and the pass back to keys and values. Rows of q have one 1 and scores
are whole numbers, whose exponentials to the base 2 and all sums are exact: what a launch stores by the entry that it
chooses on the device must be what the CPU device stores, bit for bit; so must what the further entry stores, chosen or not.
Prints what is wrong and the command that shows it, whose files stay then, and how many passed and failed."""
import struct
import sys
from functools import partial
from pathlib import Path

from source import Launched, run_seeds, try_launched

HEAD = '''import triton
import triton.language as tl


@triton.jit
def scores(q_ptr: "*fp16:16", k_ptr: "*fp16:16", v_ptr: "*fp16:16", o_ptr: "*fp32:16", p_ptr: "*fp32:16", total_ptr: "*fp32",
           top_ptr: "*fp32", bias_ptr: "*fp16:16", i_ptr: "*i32", M: "i32{even}", N: "i32{even}", shared: "i32", scale: "fp32",
           D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
'''
# blocks, a head, warps, stages
CONFIGS = [(64, 64, 64, 4, 2), (128, 64, 64, 4, 2), (128, 128, 64, 8, 3), (128, 128, 128, 8, 2), (64, 64, 128, 4, 3),
           (128, 64, 128, 8, 3), (64, 32, 64, 4, 3), (32, 64, 32, 4, 3), (16, 64, 64, 4, 2), (128, 32, 32, 4, 4)]
PARTS = 2  # of the keys, that have sums of their own


def one_hot(path, rows, columns, pick):
    """A file of rows that have one 1."""
    header = str({"descr": "<f2", "fortran_order": False, "shape": (rows, columns)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    lines = []
    for _ in range(rows):
        line = bytearray(2 * columns)
        line[(at := 2 * pick.randrange(columns)):at + 2] = struct.pack("<e", 1)
        lines.append(bytes(line))
    Path(path).write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + b"".join(lines))


class Scores(Launched):
    """A kernel, and what it is launched with."""

    def __init__(self, seed):
        super().__init__(seed)
        self.bm, self.bn, self.d, self.warps, self.stages = self.pick(*CONFIGS)
        self.back = self.maybe(.25)  # the pass back: a block of keys meets all rows of q
        self.plain = self.maybe(.5)  # what roles take, but for what is written around it
        self.even = self.plain or self.maybe(.7)
        unit = 16 if self.even else 1
        self.m = unit * self.random.randint(1, 3 * self.bm // unit)
        self.n = unit * self.random.randint(1, 300 // unit)
        self.heads = self.random.randint(1, 3)
        self.shared = self.pick(1, 1, 2)  # heads of q by one of keys
        self.by = self.pick("pointers", "pointers", "walk", "descriptors", "blocks")
        self.mask = self.pick("", "causal", "causal", "window", "length")  # length: i_ptr's; else i_ptr may have pages
        self.more = self.pick("", "", "bias", "slope")  # scores' range lets there be one of them
        self.pages = self.mask != "length" and not self.plain and not self.back and self.by == "pointers" and self.maybe(.3)
        self.parts = not self.back and not self.pages and self.maybe(.15)
        self.trans = self.maybe(.5)

    # ---- a block of keys, or of values ----

    def load(self, x, at, masked):
        """Of keys or values from number `at` on: keys lie as columns, if they are not transposed behind."""
        down = x == "v" or self.trans
        if self.by == "descriptors":
            block = self.let(f"{x}_desc.load([{at}, 0])")
            return block if down else self.let(f"tl.trans({block})")
        if self.by == "blocks":
            block = self.let(f'tl.load({x}_block, boundary_check=(0,), padding_option="zero")')
            return block if down else self.let(f"tl.trans({block})")
        pointers = f"{x}_walk" if self.by == "walk" else self.pointers(x, at, down)
        bound = f", mask=({at} + j < N){'[:, None]' if down else '[None, :]'}, other=0.0" * masked
        return self.let(f"tl.load({pointers}{bound})")

    def pointers(self, x, at, down):
        at = f"tl.load(i_ptr + ({at}) // BN) * BN" if self.pages else at
        return f"{x}s + ({at} + j)[:, None] * D + d[None, :]" if down else f"{x}s + ({at} + j)[None, :] * D + d[:, None]"

    def prepare(self):
        """The pointers, by descriptors, that all loops have."""
        if self.by == "descriptors":
            for x in "kv":
                self.emit(f"{x}_desc = tl.make_tensor_descriptor({x}s, [N, D], [D, 1], [BN, D])")

    def begin(self, first):
        for x in "kv":
            if self.by == "walk":
                self.emit(f"{x}_walk = {self.pointers(x, first, x == 'v' or self.trans)}")
            if self.by == "blocks":
                self.emit(f"{x}_block = tl.make_block_ptr({x}s, (N, D), (D, 1), ({first}, 0), (BN, D), (1, 0))")

    def go_on(self):
        for x in "kv":
            if self.by == "walk":
                self.emit(f"{x}_walk += BN * D")
            if self.by == "blocks":
                self.emit(f"{x}_block = tl.advance({x}_block, (BN, 0))")

    # ---- scores ----

    def seen(self, masked):
        """What of a block counts, or nothing."""
        known = {"causal": "(m[:, None] >= n[None, :])", "window": "(m[:, None] >= n[None, :]) & (m[:, None] - n[None, :] < 48)"}
        terms = [known[self.mask]] if self.mask in known and masked else []
        if masked:
            terms.append("(n[None, :] < N)")
        if self.mask == "length":
            terms.append("(n[None, :] < length)")
        return " & ".join(terms)

    def score(self, product, masked):
        s = self.let(f"{product}{self.pick(' * scale', ' * scale', ' * 2.0', '')}")
        if self.more == "bias":
            bias = self.let("tl.load(bias_ptr + m[:, None] * N + n[None, :], mask=(m < M)[:, None] & (n < N)[None, :], other=0.0)")
            s = self.let(f"{s} + {bias}")
        if self.more == "slope":
            s = self.let(f"{s} + tl.minimum(tl.maximum((n[None, :] - m[:, None]) // 16, -5), 0).to(tl.float32) * tl.where(head > 0, 1.0, 0.0)")
        seen = self.seen(masked)
        return self.let(f'tl.where({seen}, {s}, -float("inf"))') if seen else s

    def turn(self, at, masked):
        self.emit(f"n = {at} + j")
        k = self.load("k", at, masked)
        late = self.maybe(.5)
        v = None if late else self.load("v", at, masked)
        s = self.score(self.let(f"tl.dot(q, tl.trans({k}))" if self.trans else f"tl.dot(q, {k})"), masked)
        self.emit(f"higher = tl.maximum(top, tl.max({s}, 1))")
        p = self.let(f"tl.exp2({s} - higher[:, None])")
        self.emit("shrink = tl.exp2(top - higher)")
        self.emit(f"total = total * shrink + tl.sum({p}, 1)")
        if self.maybe(.1):
            p = self.let(f"tl.where(((m[:, None] + n[None, :]) % 3 == 0), 0.0, {p})")
        v = v or self.load("v", at, masked)
        if self.maybe(.6):
            self.emit(f"acc = tl.dot({p}.to({v}.dtype), {v}, acc * shrink[:, None])")
        else:
            self.emit("acc = acc * shrink[:, None]")
            self.emit(f"acc += tl.dot({p}.to(tl.float16), {v})")
        self.emit("top = higher")

    def loop(self, first, end, masked):
        way = self.pick("first", "first", "first", "turn", "back", "first" if self.plain else "while")
        if self.by in ("walk", "blocks") and way == "back":
            way = "turn"
        words, more = self.pick(("range(", ""), ("range(", ""), ("tl.range(", ""), ("tl.range(", ", num_stages=3"),
                                ("tl.range(", ", warp_specialize=True"))
        self.blocks(way, words, more, first, end, "BN", masked)

    def forward(self):
        self.emit("tile, head = tl.program_id(0), tl.program_id(1)")
        if self.maybe(.2):
            self.emit("tile = tl.num_programs(0) - 1 - tile")
        self.grid = [-(-self.m // self.bm), self.heads, PARTS if self.parts else 1]
        self.emit("m, j, d = tile * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)")
        wide = self.pick("", ".to(tl.int64)")
        for x in "kv":
            self.emit(f"{x}s = {x}_ptr + (head // shared){wide} * N * D")
        if self.mask == "length":
            self.emit("length = tl.load(i_ptr + head)")
        self.emit(f"rows = head{wide} * M * D + m[:, None] * D + d[None, :]")
        self.emit("q = tl.load(q_ptr + rows, mask=(m < M)[:, None], other=0.0)")
        self.emit("acc = tl.zeros((BM, D), dtype=tl.float32)")
        # Where a row's first block may have nothing that counts, its top begins with a number.
        at_once = self.mask in ("", "causal") and not self.parts and self.maybe(.5)
        sink = not at_once and self.maybe(.3)
        self.emit("total = tl.full((BM,), 1.0, tl.float32)" if sink else "total = tl.zeros((BM,), dtype=tl.float32)")
        begin = '-float("inf")' if at_once else "0.0" if sink else "-30.0"
        self.emit(f"top = tl.full((BM,), {begin}, tl.float32)")
        self.prepare()
        end = "N"
        if self.mask in ("causal", "window") and self.maybe(.7):
            end = "tl.minimum((tile + 1) * BM, N)"
        if self.mask == "length" and self.maybe(.5):
            end = "tl.minimum(length, N)"
        self.emit(f"end = {end}")
        if self.parts:
            self.emit("z = tl.program_id(2)")
            self.emit("each = tl.cdiv(tl.cdiv(end, BN), tl.num_programs(2)) * BN")
            self.emit("start = tl.minimum(z * each, end)")
            self.emit("end = tl.minimum(start + each, end)")
            self.loop("start", "end", True)
        elif self.mask == "window" and self.maybe(.5):
            self.emit("start = tl.maximum(tile * BM - 48, 0) // BN * BN")
            self.loop("start", "end", True)
        elif self.mask != "window" and self.maybe(.6):
            whole = "tl.minimum(tile * BM, N) // BN * BN" if self.mask == "causal" else "tl.minimum(end, N) // BN * BN"
            self.emit(f"whole = {whole}")
            if at_once or self.maybe(.7):
                self.loop("0", "whole", False)
                self.loop("whole", "end", True)
            else:
                self.loop("whole", "end", True)
                self.loop("0", "whole", False)
        else:
            self.loop("0", "end", True)
        of = "+ tl.program_id(2) * tl.num_programs(1) * M " * self.parts
        self.emit(f"tl.store(total_ptr {of}+ head * M + m, total, mask=m < M)")
        self.emit(f"tl.store(top_ptr {of}+ head * M + m, top, mask=m < M)")
        self.emit(f"tl.store(o_ptr {of.replace('* M ', '* M * D ')}+ rows, acc, mask=(m < M)[:, None])")

    # ---- the pass back: dv = p' @ do, dk = ds' @ q ----

    def backward(self):
        self.trans = True
        self.grid = [-(-self.n // self.bn), self.heads, 1]
        self.emit("tile, head = tl.program_id(0), tl.program_id(1)")
        self.emit("n, j, d = tile * BN + tl.arange(0, BN), tl.arange(0, BM), tl.arange(0, D)")
        self.emit("keys = (head // shared) * N * D + n[:, None] * D + d[None, :]")
        self.emit("k = tl.load(k_ptr + keys, mask=(n < N)[:, None], other=0.0)")
        self.emit("v = tl.load(v_ptr + keys, mask=(n < N)[:, None], other=0.0)")
        for x in ("dk", "dv"):
            self.emit(f"{x} = tl.zeros((BN, D), dtype=tl.float32)")
        self.emit("qs, gs = q_ptr + head * M * D, bias_ptr + head * M * D")
        first = "0"
        if self.mask == "causal" and self.maybe(.6):
            first = "tl.minimum(tile * BN, M) // BM * BM"
        words, more = self.pick(("range(", ""), ("tl.range(", ""), ("tl.range(", ", num_stages=2"), ("tl.range(", ", warp_specialize=True"))
        self.emit(f"for at in {words}{first}, M, BM{more}):")
        self.depth += 1
        self.emit("m = at + j")
        self.emit("of = m[:, None] * D + d[None, :]")
        self.emit("q = tl.load(qs + of, mask=(m < M)[:, None], other=0.0)")
        turned = self.maybe(.5)  # the block of scores stands on its side
        s = self.let(f"tl.dot(k, tl.trans(q)){self.pick('', ' * scale')}" if turned else f"tl.dot(q, tl.trans(k)){self.pick('', ' * scale')}")
        self.emit("high = tl.load(top_ptr + head * M + m, mask=m < M, other=0.0)")
        row, column = ("[None, :]", "[:, None]") if turned else ("[:, None]", "[None, :]")
        p = self.let(f"tl.exp2({s} - high{row})")
        seen = [f"(m{row} < M)", f"(n{column} < N)"]
        if self.mask == "causal":
            seen.append(f"(m{row} >= n{column})")
        p = self.let(f"tl.where({' & '.join(seen)}, {p}, 0.0)")
        self.emit("g = tl.load(gs + of, mask=(m < M)[:, None], other=0.0)")
        half = self.let(f"{p}.to(tl.float16)")
        self.emit(f"dv = tl.dot({half if turned else f'tl.trans({half})'}, g, dv)")
        dp = self.let("tl.dot(v, tl.trans(g))" if turned else "tl.dot(g, tl.trans(v))")
        ds = self.let(f"({p} * {dp}).to(tl.float16)")
        self.emit(f"dk += tl.dot({ds if turned else f'tl.trans({ds})'}, q)")
        self.depth -= 1
        for x, to in (("dk", "o_ptr"), ("dv", "p_ptr")):
            self.emit(f"tl.store({to} + head * N * D + n[:, None] * D + d[None, :], {x}, mask=(n < N)[:, None])")

    def write(self):
        (self.backward if self.back else self.forward)()
        return HEAD.format(even=":16" if self.even else "") + "\n".join(self.lines) + "\n"

    def constants(self):
        return {"D": self.d, "BM": self.bm, "BN": self.bn}

    def stored(self):
        return ["o", "p"] if self.back else ["o", "total", "top"]

    def arguments(self, stem):
        rows, keys = self.heads * self.m, self.heads * self.n
        pages = -(-self.n // self.bn)
        kind = f"randint(0,{pages}):i32[{pages}]" if self.pages else f"randint(1,{self.n + 1}):i32[{self.heads}]"
        one_hot(f"{stem}-q.npy", rows, self.d, self.random)
        if self.back:
            one_hot(f"{stem}-g.npy", rows, self.d, self.random)
        room = keys + (self.bn if self.pages else 0)
        return [f"q_ptr=@{stem}-q.npy", f"k_ptr=randint(-2,3):fp16[{room},{self.d}]", f"v_ptr=randint(-2,3):fp16[{room},{self.d}]",
                f"o_ptr=zeros:fp32[{PARTS * max(rows, keys) * self.d}]", f"p_ptr=zeros:fp32[{keys * self.d}]",
                f"total_ptr=zeros:fp32[{PARTS * rows}]", f"top_ptr={'randint(2,5)' if self.back else 'zeros'}:fp32[{PARTS * rows}]",
                f"bias_ptr=@{stem}-g.npy" if self.back else f"bias_ptr=randint(0,4):fp16[{self.m * self.n}]",
                f"i_ptr={kind}", f"M={self.m}", f"N={self.n}", f"shared={self.shared}", "scale=1.0"]


if __name__ == "__main__":
    sys.exit(run_seeds("scores", partial(try_launched, "scores", Scores)))

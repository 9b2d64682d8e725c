# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""branches.py BIN [--device=ptx:sm_90a] [SEED | FROM-TO]…: random kernels whose loops are in ways of branches, by the numbers of
their seeds.

Branches are up to five deep, on scalars of the program's number and of arguments, the same ones again among them, in loops and
around them. In their ways are loops of products of several shapes, with a warp of its own for their blocks where they ask for it, sums,
and atomics that tell others. In whole numbers, what a launch stores by the entry that it chooses on the device must be what the CPU
device stores; so must what the further entry stores, chosen or not. Prints what is wrong and the command that shows it, whose files stay
then, and how many passed and failed."""
import sys
from functools import partial

from source import Launched, run_seeds, try_launched

HEAD = '''import triton
import triton.language as tl


@triton.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROLES: tl.constexpr, STAGES: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for at in tl.range(0, K, BK, warp_specialize=ROLES, num_stages=STAGES):
        x = tl.load(a + m[:, None] * K + (at + k)[None, :], mask=(at + k)[None, :] < K, other=0.0)
        y = tl.load(b + (at + k)[:, None] * BN + n[None, :], mask=(at + k)[:, None] < K, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * BN + n[None, :], acc)


@triton.jit
def sums(a, c, told, n, SIZE: tl.constexpr, STAGES: tl.constexpr, SEM: tl.constexpr):
    i = tl.arange(0, SIZE)
    for part in tl.range(0, n, num_stages=STAGES):
        x = tl.load(a + part * 256 + i).to(tl.float32)
        tl.store(c + part, tl.sum(x))
        if SEM is not None:
            tl.debug_barrier()
            tl.atomic_add(told, 1, sem=SEM)


# tile: grid = 4
@triton.jit
def branches(a_ptr: "*fp16:16", b_ptr: "*fp16:16", c_ptr: "*fp32:16", told_ptr: "*i32", K: "i32:16", m: "i32", n: "i32"):
    pid = tl.program_id(0)
    c = c_ptr + pid * STORED
'''
CONDITIONS = ["pid < m", "pid < m", "pid - m < 1", "n > 2", "not pid < m", "pid % 2 == 0", "(pid + 3) // n == 1", "tl.maximum(pid, m) > 2",
              "(pid < m) & (n > 1)", "pid < m or n > 3", "pid * n + m > 4", "tl.minimum(n - pid, 2) > m - 1"]
MOST_DEPTH, TURNS, COUNTS = 5, 2, 16  # of branches; of a loop around some; elements of a sum's stores


class Branches(Launched):
    """A kernel, and what it is launched with."""

    def __init__(self, seed):
        super().__init__(seed)
        self.grid, self.warps, self.stages = (4,), self.pick(4, 4, 8), self.pick(2, 3, 4)
        self.numbers = {"K": 16 * self.pick(1, 3, 4, 8, 13), "m": self.random.randint(0, 4), "n": self.random.randint(1, 4)}
        self.stored_elements = self.told = self.loops = self.products = 0
        self.roles = self.maybe(.7)
        for _ in range(self.pick(1, 1, 2)):
            self.nest(0)

    def leaf(self):
        to = f"c + {self.stored_elements}"
        if self.products < 5 and self.maybe(.7):
            bm, bn = self.pick(64, 64, 128), self.pick(32, 64, 128) * (2 if self.warps == 8 else 1)
            asks = self.roles and self.maybe(.85)
            self.emit(f"product(a_ptr, b_ptr, {to}, K, {bm}, {bn}, {self.pick(32, 64)}, {asks}, {self.pick(2, 3, 4)})")
            self.stored_elements += bm * bn
            self.products += 1
        else:
            sem = self.pick("None", '"release"', '"relaxed"', '"acq_rel"') if self.maybe(.5) else "None"
            self.emit(f"sums(a_ptr, {to}, told_ptr + {self.told}, n, {self.pick(128, 256)}, {self.pick(1, 3)}, {sem})")
            self.stored_elements += COUNTS
            self.told += 1

    def nest(self, depth):
        """A branch, a loop around what is in it, or a leaf; maybe several, one after the other."""
        for _ in range(self.pick(1, 1, 1, 2)):
            which = self.random.random()
            if depth == MOST_DEPTH or which < .12 + .1 * depth:
                self.leaf()
            elif which < .2 + .1 * depth and not self.loops:
                self.loops += 1
                self.emit(f"for t{depth} in range({TURNS}):")
                self.inside(depth)
                self.loops -= 1
            else:
                self.emit(f"if {self.pick(*CONDITIONS)}:")
                self.inside(depth)
                if self.maybe(.4):
                    self.emit(f"elif {self.pick(*CONDITIONS)}:")
                    self.inside(depth)
                if self.maybe(.8):
                    self.emit("else:")
                    self.inside(depth)

    def inside(self, depth):
        self.depth += 1
        self.nest(depth + 1)
        self.depth -= 1

    def write(self):
        return HEAD.replace("STORED", str(self.stored_elements)) + "\n".join(self.lines) + "\n"

    def arguments(self, _stem):
        return ["a_ptr=randint(-4,5):fp16[32768]", "b_ptr=randint(-4,5):fp16[65536]", f"c_ptr=zeros:fp32[{4 * self.stored_elements}]",
                f"told_ptr=zeros:i32[{self.told + 1}]", *[f"{x}={v}" for x, v in self.numbers.items()]]

    def constants(self):
        return {}

    def stored(self):
        return ["c", "told"]


if __name__ == "__main__":
    sys.exit(run_seeds("branches", partial(try_launched, "branches", Branches)))

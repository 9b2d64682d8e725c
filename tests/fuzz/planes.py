# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""planes.py BIN [--device=ptx:sm_90a] [SEED | FROM-TO]…: random products of many planes, by the numbers of their seeds.

A plane's address is a random sum of indices of the grid times numbers times strides, and of what a launch knows: dimensions
of a tensor in front of a block's own, of which some share one, some masks speak of, and some begin below 0. In whole numbers,
what a launch stores by the entry that it chooses on the device must be what the CPU device stores; so must what the further
entry stores, chosen or not. Prints what is wrong and the command that shows it, whose files stay then, and how many passed
and failed."""
import itertools
import random
import sys
from pathlib import Path

from source import first_wrong, run_seeds, wrong_further

KERNEL = '''import triton
import triton.language as tl


@triton.jit
def planes(a_ptr: "*fp16:16", b_ptr: "*fp16:16", c_ptr: "*fp16:16", M: "i32", N: "i32:16", K: "i32:16", S: "i32:16",
           T: "i32:16", G: "i32", L: "i32", BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) % tl.cdiv(M, BM) * BM + tl.arange(0, BM)
    n = tl.program_id(0) // tl.cdiv(M, BM) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    g, r = {places}
    acc = tl.zeros((BM, BN), dtype=tl.float32)
{loop}
{end}
    tl.store(c_ptr + {c} + m[:, None] * N + n[None, :], acc.to(tl.float16), mask={c_mask}(m < M)[:, None] & (n < N)[None, :])
'''
# the pointers of a block, how far they go in a turn, the block's mask
BLOCKS = {"a": ("a_ptr + {a} + ({row})[:, None] * K + {k}[None, :]", "BK", "{a_mask}({k} < K)[None, :]"),
          "b": ("b_ptr + {b} + {k}[:, None] * N + ({column})[None, :]", "BK * N", "{b_mask}({k} < K)[:, None]"),
          "along": ("b_ptr + {b} + ({column})[:, None] * K + {k}[None, :]", "BK", "{along_mask}({k} < K)[None, :]")}
ENDS = ["", "", "    acc = tl.maximum(acc, 0.0)", "    acc *= tl.load(a_ptr + n, mask=n < K, other=1.0).to(tl.float32)[None, :]",
        "    acc += tl.load(b_ptr + m[:, None] * N + n[None, :], mask=(m < K)[:, None] & (n < N)[None, :], other=0.0)"]
CONFIGS = [(64, 64, 64, 4, 2), (64, 64, 64, 4, 3), (128, 64, 64, 4, 3), (128, 128, 64, 8, 3), (48, 80, 64, 4, 3),
           (120, 64, 64, 8, 3), (64, 112, 48, 4, 3)]  # blocks, warps, stages
PLACES = ["tl.program_id(1), tl.program_id(2)",
          "tl.swizzle2d(tl.program_id(1), tl.program_id(2), tl.num_programs(1), tl.num_programs(2), 2)",
          "tl.program_id(1), tl.num_programs(2) - 1 - tl.program_id(2)"]


def index_of(pick, size):
    """An index made of one number of the grid, or of both."""
    name = pick.choice("gr")
    if pick.random() < .6:
        return name
    return pick.choice([f"({size[name] - 1} - {name})", f"({name} // 2)", f"({name} % 2)", "((g * 2 + r) // 3)", "(g * r)"])


def plane_of(pick, size):
    """The address of a plane, in elements."""
    terms = []
    for _ in range(pick.randint(1, 3)):
        index, by, wide = index_of(pick, size), pick.choice([1, 1, 1, 2, 3, 8]), pick.choice(["", "", ".to(tl.int64)"])
        other, stride = index_of(pick, size), pick.choice(["S", "S", "T", "64", "S * 2", "M * K"])
        inside = f"({index} * {by} + {other})" if pick.random() < .5 else f"({index} * {by})"
        terms.append(f"{inside}{wide} * {stride}" if pick.random() < .8 else f"{inside} * ({stride}){wide}")
    if pick.random() < .3:
        terms.append(pick.choice(["L * S", "L * 16", "L.to(tl.int64) * T", "(L * 3 + g) * S", "32"]))
    return "(" + " + ".join(terms) + ")"


def offsets(text, size, numbers):
    """Of all planes."""
    text = text.replace(".to(tl.int64)", "")
    return [eval(text, {}, {"g": g, "r": r, **numbers}) for g, r in itertools.product(range(size["g"]), range(size["r"]))]


def some_planes(pick, size, numbers, elements, apart):
    """A plane's address, and how many elements all of them take; apart: no two have one in common."""
    for _ in range(50):
        text = plane_of(pick, size)
        at = sorted(offsets(text, size, numbers))
        if not apart or all(y - x >= elements for x, y in itertools.pairwise(at)):
            return text, at[-1] + elements
    numbers["S"] = 16 * -(-elements // 16)
    return "((g * 3 + r) * S)", 10 * numbers["S"] + elements


def loop_of(pick, **parts):
    """Over K, by the number of the block's first column, by the turn's, or by pointers that walk."""
    way, other = pick.choice(["first", "turn", "walk"]), pick.choice(["b", "b", "along"])
    lines, k = [], {"first": "(i + k)", "turn": "(i * BK + k)", "walk": "k"}[way]
    head = "    for i in range(0, K, BK):" if way == "first" else "    for i in range(tl.cdiv(K, BK)):"
    for name, block in (("p", "a"), ("q", other)):
        pointers, step, mask = BLOCKS[block]
        pointers, mask = pointers.format(k=k, **parts), mask.format(k="(i * BK + k)" if way == "walk" else k, **parts)
        if way == "walk":
            lines.append(f"    {name}s = {pointers}")
        else:
            head += f"\n        {name}s = {pointers}"
        head += f"\n        {name} = tl.load({name}s, mask={mask}, other=0.0)"
    head += f"\n        acc = tl.dot(p, {'tl.trans(q)' if other == 'along' else 'q'}, acc)"
    if way == "walk":
        head += f"\n        ps += BK\n        qs += {BLOCKS[other][1]}"
    return "\n".join([*lines, head])


def try_seed(programs, device, work, seed):
    """What is wrong, or nothing."""
    pick, stem = random.Random(seed), f"{work}/planes-{seed}"
    bm, bn, bk, warps, stages = pick.choice(CONFIGS)
    m, n, k = pick.choice([pick.randint(1, 2 * bm), bm, 2 * bm]), 16 * pick.randint(1, 2 * bn // 16), 16 * pick.randint(1, 10)
    size = {"g": pick.randint(1, 3), "r": pick.randint(1, 3)}
    numbers = dict(M=m, N=n, K=k, S=16 * pick.randint(1, 200), T=16 * pick.randint(1, 2000), L=pick.randint(0, 3))
    if pick.random() < .7:
        numbers["S"] = -(-max(m * n, m * k, k * n) // 16) * 16
    c, c_room = some_planes(pick, size, numbers, m * n, True)
    a, a_room = some_planes(pick, size, numbers, m * k, False)
    b, b_room = some_planes(pick, size, numbers, k * n, False)
    masks = {f"{x}_mask": pick.choice([""] * 9 + ["(g < G) & ", "(r < G) & ", "(g * 2 + r < G) & "]) for x in "abc"}
    row, column = pick.choice(["m", "m", "m % M"]), pick.choice(["n", "n", "n % N"])
    masks["a_mask"] += "" if row == "m % M" or (m % bm == 0 and pick.random() < .5) else "(m < M)[:, None] & "
    bounded = not (column == "n % N" or (n % bn == 0 and pick.random() < .5))
    masks["along_mask"] = masks["b_mask"] + "(n < N)[:, None] & " * bounded
    masks["b_mask"] += "(n < N)[None, :] & " * bounded
    loop = loop_of(pick, a=a, b=b, row=row, column=column, **masks)
    end, split = pick.choice(ENDS), ["--stream-k=auto"] if pick.random() < .25 else []
    Path(f"{stem}.tl").write_text(KERNEL.format(c=c, c_mask=masks["c_mask"], places=pick.choice(PLACES), loop=loop, end=end))
    numbers["G"] = pick.randint(1, 4)
    grid = f"--grid={-(-m // bm) * -(-n // bn)},{size['g']},{size['r']}"
    constants = [f"-D{x}={v}" for x, v in (("BM", bm), ("BN", bn), ("BK", bk))]
    arguments = [f"a_ptr=randint(-4,5):fp16[{a_room}]", f"b_ptr=randint(-4,5):fp16[{b_room}]", f"c_ptr=zeros:fp16[{c_room}]",
                 *[f"{x}={v}" for x, v in numbers.items()]]
    command = [programs / "tilerun", f"{stem}.tl", f"--seed={seed}", grid, f"--num-warps={warps}", f"--num-stages={stages}",
               *constants, *arguments]
    wrong = first_wrong(seed, command, (["--device=cpu", f"--save=c_ptr={stem}.npy"],
                                        [f"--device={device}", *split, f"--expect=c_ptr={stem}.npy:0"]))
    if wrong or device.endswith("sm_80"):  # which has no further entries
        return wrong
    said = wrong_further([programs / "tilec", f"{stem}.tl", f"--num-warps={warps}", f"--num-stages={stages}", *constants,
                          "-Wno-perf", "--target=sm_90a", *split], stem, "planes",
                         [f"--seed={seed}", grid, f"--device={device}", *arguments, f"--expect=c_ptr={stem}.npy:0"])
    return f"seed {seed}: {said}" if said else ""


if __name__ == "__main__":
    sys.exit(run_seeds("planes", try_seed))

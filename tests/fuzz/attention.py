# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""attention.py BIN [--device=ptx:sm_90a] [SEED | FROM-TO]…: random flash attention, by the numbers of their seeds.

Each is examples/flash_attention.tl with blocks and heads of whatever size tl.arange takes: of those that are no power of two
the second product's first factor, which threads hold, ends within its columns. Every fourth is the kernel of
examples/distributed/ring_attention.tl, whose warps wait for the shards of several ranks, which are all there. What is stored on the device must be what the
CPU device stores, but for how each rounds; the PTX machine watches for races and for registers that are written too late.
Prints what is wrong and the command that shows it, whose files stay then, and how many runs passed and failed."""
import random
import sys
from pathlib import Path

from source import SIZES, first_wrong, power_above, run_seeds

ROOT = Path(__file__).resolve().parents[2]
HEADS = 2
DIMS = [size for size in SIZES if size % 16 == 0]  # of a head
SUMS, SCORES = 200, 128  # that a thread holds at most
ROOM = 200 << 10         # bytes of shared memory that blocks take at most, as powers of two
BOUND, BOUND_SUM = 1e-2, 1e-3


def sizes_of(pick):
    """Of a block's rows, columns and a head; warps, stages."""
    while True:
        bm, bn, d = pick.choice(SIZES), pick.choice(SIZES), pick.choice(DIMS)
        warps, stages = pick.choice([4, 8, 8, 16]), pick.randint(1, 4)
        rows, columns, width = map(power_above, (bm, bn, d))
        threads, held = 32 * warps, 2 * (width * (rows + 2 * stages * columns) + rows * columns)
        if bm * d <= SUMS * threads and bm * bn <= SCORES * threads and held <= ROOM:
            return bm, bn, d, warps, stages


def compared(seed, stem, device, command, outputs):
    return first_wrong(seed, command, (
        ["--device=cpu", *[f"--save={x}={stem}-{x}.npy" for x in outputs]],
        [f"--device={device}", *[f"--expect={x}={stem}-{x}.npy:{bound}" for x, bound in outputs.items()]]))


def ring_of(programs, pick, seed, bm, bn, d, causal):
    ranks, m, kv_heads = pick.randint(1, 4), 16 * pick.randint(1, 16), pick.choice([1, HEADS])
    return [programs / "tilerun", ROOT / "examples/distributed/ring_attention.tl", "-I", ROOT / "examples",
            f"--seed={seed}", f"-DD={d}", f"-DBM={bm}", f"-DBN={bn}", f"-DCAUSAL={causal}", f"-DRANKS={ranks}",
            f"q_ptr=randn:fp16[{HEADS},{m},{d}]", f"kv=randn:fp16[{ranks},{kv_heads},2,{m},{d}]", f"out_ptr=zeros:fp16[{HEADS},{m},{d}]",
            f"flags=full(7):i32[{ranks * HEADS}]", f"heads={HEADS}", f"kv_heads={kv_heads}", f"M={m}", "scale=0.125",
            f"rank={pick.randrange(ranks)}", "launch=7", f"together={pick.randint(1, HEADS)}",
            *([f"--grid={pick.randint(1, 4)}"] if ranks > 1 and not causal else [])]


def try_seed(programs, device, work, seed):
    """What is wrong, or nothing."""
    pick, stem = random.Random(seed), f"{work}/attention-{seed}"
    bm, bn, d, warps, stages = sizes_of(pick)
    causal = pick.random() < .4
    if seed % 4 == 3:
        command = ring_of(programs, pick, seed, min(bm, 128), bn, d, causal)
        return compared(seed, stem, device, [*command, f"--num-warps={warps}", f"--num-stages={stages}"],
                        {"out_ptr": BOUND})
    m = pick.choice([bm, bm + 8, 2 * bm - 8, 3 * bm, 200])
    n = m if causal else pick.choice([bn, 2 * bn, 3 * bn + 8, 136, 20])
    heads = {"q": m, "k": n, "v": n, "out": m}
    command = [programs / "tilerun", ROOT / "examples/flash_attention.tl", f"--seed={seed}", f"-DD={d}", f"-DBM={bm}",
               f"-DBN={bn}", f"-DCAUSAL={causal}", f"--num-warps={warps}", f"--num-stages={stages}",
               *[f"{x}_ptr=randn:fp16[{HEADS},{heads[x]},{d}]" for x in "qkv"], f"out_ptr=zeros:fp16[{HEADS},{m},{d}]",
               f"lse_ptr=zeros:fp32[{HEADS},{m}]", f"heads={HEADS}", f"M={m}", f"N={n}", "scale=0.125",
               *[f"{x}_head={rows * d}" for x, rows in heads.items()], *[f"{x}_row={d}" for x in heads]]
    return compared(seed, stem, device, command, {"out_ptr": BOUND, "lse_ptr": BOUND_SUM})


if __name__ == "__main__":
    sys.exit(run_seeds("attention", try_seed))

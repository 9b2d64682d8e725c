# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""products.py BIN [--device=ptx:sm_90a] [SEED | FROM-TO]…: random matrix products, by the numbers of their seeds.

Each is bench/matmul_types.tl, half of them in a config of bench/matmul_configs.txt or matmul_more.txt, half in a tile of
whatever size tl.arange takes, and of a shape of few blocks, some of whose rows begin within lines of memory and whose sums
end within a block, in whole numbers. What a launch stores by the entry that it chooses on the device, a GPU's too, with
--stream-k=auto or without, must be what the CPU device stores; so must what the further entry stores, chosen or not.
Prints what is wrong and the command that shows it, whose files stay then, and how many runs passed and products failed."""
import random
import sys
from pathlib import Path

from source import SIZES, first_wrong, power_above, run_seeds, wrong_further

ROOT = Path(__file__).resolve().parents[2]
# factors, what may be stored of them, bytes of a factor
TYPES = [("fp16", ("fp16", "fp32"), 2)] * 3 + [("bf16", ("bf16", "fp32"), 2), ("fp8e4nv", ("bf16",), 1), ("i8", ("i32",), 1),
                                               ("fp32", ("fp32",), 4)]
CHUNK = 16  # bytes that rows are multiples of
LEAST, MOST = 8, 208  # sums that a thread holds
ROOM = 220 << 10      # bytes of shared memory that stages take at most, of blocks as powers of two


def configs():
    for name in ("matmul_configs.txt", "matmul_more.txt"):
        for line in (ROOT / "bench" / name).read_text().splitlines():
            if not line.startswith("#"):
                yield tuple(map(int, line.split()))


def any_config(pick):
    """Of a tile of whatever size, with as many warps and stages as it has room for."""
    while True:
        bm, bn, warps, stages = pick.choice(SIZES), pick.choice(SIZES), pick.choice([4, 8, 8, 16]), pick.randint(2, 5)
        bytes_of_turn = (power_above(bm) + power_above(bn)) * 2 * 64
        if LEAST <= bm * bn // (32 * warps) <= MOST and stages * bytes_of_turn <= ROOM:
            return bm, bn, 64, warps, stages


def size_of(pick, block, unit):
    """Of up to three blocks, whole ones now and then: programs have one place, or several."""
    blocks = pick.randint(1, 3)
    if pick.random() < .25 and block * blocks % unit == 0:
        return block * blocks
    return unit * pick.randint(1, max(1, blocks * block // unit))


def try_seed(programs, device, work, seed):
    """What is wrong, or nothing."""
    pick, stem = random.Random(seed), f"{work}/product-{seed}"
    kind, stored, width = pick.choice(TYPES)
    out = pick.choice(stored)
    bm, bn, bk, warps, stages = any_config(pick) if pick.random() < .5 else pick.choice(list(configs()))
    bk, unit = bk * 2 // width, CHUNK // width
    along_a, along_b = pick.random() < .25, pick.random() < .25  # columns lie in one piece, not rows
    m, n, k = size_of(pick, bm, unit if along_a else 1), size_of(pick, bn, unit), size_of(pick, bk, unit)
    constants = dict(BM=bm, BN=bn, BK=bk, GROUP_M=pick.choice([1, 8]), ACC="tl.int32" if kind == "i8" else "tl.float32",
                     PRECISION="tf32", ALIGN=unit)
    a, b = (1, m) if along_a else (k, 1), (1, k) if along_b else (n, 1)
    numbers = dict(M=m, N=n, K=k, stride_am=a[0], stride_ak=a[1], stride_bk=b[0], stride_bn=b[1], stride_cm=n, stride_cn=1)
    command = [programs / "tilerun", ROOT / "bench/matmul_types.tl", "--kernel=matmul_types", f"--seed={seed}",
               f"--num-warps={warps}", f"--num-stages={stages}", *[f"-D{x}={v}" for x, v in constants.items()],
               f"a_ptr=randint(-4,5):{kind}[{m},{k}]", f"b_ptr=randint(-4,5):{kind}[{k},{n}]", f"c_ptr=zeros:{out}[{m},{n}]",
               *[f"{x}={v}" for x, v in numbers.items()]]
    split = ["--stream-k=auto"] if pick.random() < .35 else []
    arguments = command[-3 - len(numbers):]
    pointers = {"a_ptr": kind, "b_ptr": kind, "c_ptr": out}
    signature = ", ".join([*[f"{x}=*{t}:16" for x, t in pointers.items()],
                           *[f"{x}=i32" + ":1" * (v == 1 and x.startswith("stride")) for x, v in numbers.items()]])
    wrong = first_wrong(seed, command, (["--device=cpu", f"--save=c_ptr={stem}.npy"],
                                        [f"--device={device}", *split, f"--expect=c_ptr={stem}.npy:0"]))
    if wrong or device.endswith("sm_80"):  # which has no further entries
        return wrong
    compiler = [programs / "tilec", *command[1:2], *command[4:6], *[x for x in command if str(x).startswith("-D")], "-s", signature,
                "--target=sm_90a", "-Wno-perf", *split]
    tiles = -(-m // bm) * -(-n // bn)
    said = wrong_further(compiler, stem, "matmul_types", [f"--seed={seed}", f"--grid={tiles}", f"--device={device}", *arguments,
                                                          f"--expect=c_ptr={stem}.npy:0"])
    return f"seed {seed}: {said}" if said else ""


if __name__ == "__main__":
    sys.exit(run_seeds("products", try_seed))

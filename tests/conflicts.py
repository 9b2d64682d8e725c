# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""conflicts.py BIN: no access of shared memory that an example makes has bank conflicts, of threads, cp.async, the copy
engine or wgmma: in launches of the examples for both targets, with and without their further entries, every instruction
takes as few wavefronts as it can, by the PTX machine's counts. And that this can fail: a product without its swizzle has conflicts."""
import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from checks import Checks  # noqa: E402
from counters import CASES, PRODUCT, SQUARE  # noqa: E402

def attention(d):
    rows = {"q": 150, "k": 140, "v": 140, "out": 150}
    return [*(f"{x}_ptr={'empty' if x == 'out' else 'randn'}:fp16[2,{n},{d}]" for x, n in rows.items()), "lse_ptr=empty:fp32[2,150]",
            "heads=2", "M=150", "N=140", "scale=0.125", *(f"{x}_head={n * d}" for x, n in rows.items()),
            *(f"{x}_row={d}" for x in rows)]


def options(text):
    return text.split()


MORE = [  # in the form of counters.py: what it leaves out of shared memory's users, and other widths of rows
    *(("matmul", "matmul", options(o), PRODUCT) for o in (
        "-D BM=128 -D BN=256 -D BK=64 --num-warps=8", "-D BM=64 -D BN=128 -D BK=16", "-D BM=64 -D BN=16 -D BK=128",
        "-D BM=128 -D BN=192 -D BK=64 --num-warps=8 --num-stages=2")),
    *(("flash_attention", "flash_attention", options(o), attention(d)) for o, d in (
        ("-D BM=128 --num-warps=8", 64), ("-D BM=128 -D BN=128 --num-warps=8 -D CAUSAL=True", 64),
        ("-D D=128 -D BM=128 --num-warps=8", 128), ("-D D=32", 32))),
    # Its programs wait for each other: how often they ask is another time's on a GPU.
    ("streamk", "first_wave", [], [*SQUARE, "locks_ptr=zeros:int32[4]", "programs=3", "iters=5", "extra=1"]),
]
KINDS = ("cp.async.bulk.tensor", "cp.async.c", "wgmma.mma_async", "ldmatrix", "stmatrix", "ld.shared", "st.shared")


def run(*command):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    if p.returncode:
        raise RuntimeError(f"{' '.join(str(c) for c in command)}: {p.stdout[-400:]}{p.stderr[-800:]}")
    return p.stdout


def compiled(bin_, target, case, single, ptx):
    source, kernel, opts, _ = case
    run(bin_ / "tilec", "-Wno-perf", f"--target={target}", *(["--single-entry"] if single else []), "--kernel", kernel, *opts,
        Path(__file__).resolve().parent.parent / f"examples/{source}.tl", "-o", ptx)


def counts(bin_, target, ptx, arguments, *checks):
    said = json.loads(run(bin_ / "tilerun", f"--device=ptx:{target}", ptx, "--counts", "--json", *checks, *arguments))
    return [c for c in said["counts"] if c["shared_requests"]]


def kind_of(count):
    return next((k for k in KINDS if count["text"].startswith(k)), "other")


def has_conflicts(count):
    return count["wavefronts"] > count["least_wavefronts"]


def without_swizzle(ptx):
    """A bit of a row's number is part of an address twice: it says which line of 128 bytes, and it changes the unit of 16
    bytes there. Factors of it do both at once; of these the latter goes, in writing and reading alike."""
    return re.subn(r"(mul\.lo\.s32 \s*%r\d+, %r\d+), (144|288|576);", lambda m: f"{m[1]}, {int(m[2]) * 8 // 9};", ptx)


def main():
    bin_, check = Path(sys.argv[1]), Checks("conflicts")
    seen = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as work:
        ptx = Path(work) / "kernel.ptx"
        for target in "sm_80", "sm_90a":
            for case in [*CASES, *MORE]:
                _, kernel, opts, arguments = case
                for single in (True, False) if target == "sm_90a" else (True,):
                    name = f"{kernel} {' '.join(o for o in opts if o != '-D')} {target}{' --single-entry' if single else ''}"
                    try:
                        compiled(bin_, target, case, single, ptx)
                        found = counts(bin_, target, ptx, arguments)
                    except (RuntimeError, json.JSONDecodeError) as e:
                        check(name, False, e)
                        continue
                    bad = [c for c in found if has_conflicts(c)]
                    for c in found:
                        seen[target][kind_of(c)] += 1
                    check(name, not bad, *(f"line {c['ptx_line']} of the PTX takes {c['wavefronts']} wavefronts, not "
                                           f"{c['least_wavefronts']}: {c['text'][:70]}" for c in bad))
            compiled(bin_, target, ("matmul", "matmul", [], PRODUCT), True, ptx)
            text, n = without_swizzle(ptx.read_text())
            ptx.write_text(text)
            planted = collections.Counter(kind_of(c) for c in counts(bin_, target, ptx, PRODUCT) if has_conflicts(c))
            print(f"{target}: without {n} factors of swizzles have conflicts: " + ", ".join(f"{v} {k}" for k, v in planted.items()))
            check(f"{target}: conflicts without swizzles", planted["ldmatrix" if target == "sm_80" else "stmatrix"])
    for target, kinds in (("sm_80", ("cp.async.c", "ldmatrix")), ("sm_90a", KINDS)):
        for kind in kinds:
            check(f"a launch for {target} has {kind}", seen[target][kind])
    print("\n".join(f"{t}: {sum(k.values())} instructions: " + ", ".join(f"{n} {kind}" for kind, n in sorted(k.items()))
                    for t, k in seen.items()))
    return check.end()


if __name__ == "__main__":
    sys.exit(main())

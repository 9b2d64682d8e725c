# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""counters.py BIN [OUT]: what the PTX machine counts of accesses beside the hardware's counters (ncu), of launches of the
examples for both targets: the sectors that a load or store of global memory touches in a launch, the wavefronts that
those of shared memory take, ldmatrix and stmatrix among them. Each instruction of the machine code has to take what one of
the PTX does, exactly; but for one that the assembler has moved under a condition, which takes as much each time. Needs a GPU and
ncu (exit code 77 without). Writes a table to OUT/counters.csv."""
import collections
import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PRODUCT = ["a_ptr=randn:fp16[M,K]", "b_ptr=randn:fp16[K,N]", "c_ptr=empty:fp16[M,N]", "M=200", "N=208", "K=176", "stride_am=176",
           "stride_ak=1", "stride_bk=208", "stride_bn=1", "stride_cm=208", "stride_cn=1"]
SQUARE = ["a_ptr=randn:fp16[128,128]", "b_ptr=randn:fp16[128,128]", "c_ptr=empty:fp32[128,128]", "M=128", "N=128", "K=128",
          *(f"stride_{s}={1 if s in ('ak', 'bn', 'cn') else 128}" for s in ("am", "ak", "bk", "bn", "cm", "cn"))]
ROWS = ["rows=37", "cols=1008"]
CASES = [  # source, kernel, options of tilec, arguments
    ("copy", "copy", [], ["src=randn:fp32[n]", "dst=empty:fp32[n]", "n=5001"]),
    ("vector_add", "vector_add", [], ["x_ptr=randn:fp32[n]", "y_ptr=randn:fp32[n]", "out_ptr=empty:fp32[n]", "n=70001"]),
    ("softmax", "softmax", [], ["in_ptr=randn:fp32[rows,1024]", "out_ptr=empty:fp32[rows,1024]", *ROWS, "in_stride=1024", "out_stride=1024"]),
    ("softmax", "softmax_online", [], ["in_ptr=randn:fp32[rows,1024]", "out_ptr=empty:fp32[rows,1024]", *ROWS, "in_stride=1024",
                                       "out_stride=1024"]),
    ("layer_norm", "layer_norm", [], ["x_ptr=randn:fp32[rows,1024]", "y_ptr=empty:fp32[rows,1024]", "weight_ptr=randn:fp32[1024]",
                                      "bias_ptr=randn:fp32[1024]", "mean_ptr=empty:fp32[rows]", "rstd_ptr=empty:fp32[rows]", *ROWS,
                                      "stride=1024", "eps=0.001"]),
    ("rms_norm", "rms_norm", [], ["x_ptr=randn:fp16[rows,1024]", "y_ptr=empty:fp16[rows,1024]", "weight_ptr=randn:fp16[1024]", *ROWS,
                                  "stride=1024", "eps=0.001"]),
    ("rotary", "rotary", [], ["x_ptr=randn:fp16[64,12,128]", "cos_ptr=randn:fp32[64,64]", "sin_ptr=randn:fp32[64,64]",
                              "out_ptr=empty:fp16[64,12,128]", "tokens=64", "heads=12", "half=64"]),
    ("swiglu", "swiglu", [], ["gate_ptr=randn:fp16[n]", "up_ptr=randn:fp16[n]", "out_ptr=empty:fp16[n]", "n=9999"]),
    ("cumsum", "cumsum", [], ["in_ptr=randn:fp32[33,1008]", "out_ptr=empty:fp32[33,1008]", "rows=33", "cols=999", "stride=1008"]),
    ("cross_entropy", "cross_entropy", [], ["logits_ptr=randn:fp32[19,4016]", "labels_ptr=randint(0,4000):int64[19]",
                                            "loss_ptr=empty:fp32[19]", "lse_ptr=empty:fp32[19]", "rows=19", "classes=4001", "stride=4016"]),
    ("dropout", "dropout", [], ["in_ptr=randn:fp32[n]", "out_ptr=empty:fp32[n]", "n=10001", "p=0.5", "seed=7"]),
    ("rgb2grey", "rgb2grey", [], ["rgb_ptr=randint(0,256):uint8[61,1500,3]", "grey_ptr=empty:uint8[61,1500]", "h=61", "w=1500"]),
    ("filter", "blur", [], ["in_ptr=randint(0,256):uint8[2,61,701]", "out_ptr=empty:uint8[2,61,701]", "h=61", "w=701", "planes=2"]),
    ("flash_attention", "flash_attention", [], ["q_ptr=randn:fp16[2,150,64]", "k_ptr=randn:fp16[2,140,64]", "v_ptr=randn:fp16[2,140,64]",
                                                "out_ptr=empty:fp16[2,150,64]", "lse_ptr=empty:fp32[2,150]", "heads=2", "M=150", "N=140",
                                                "scale=0.125", "q_head=9600", "q_row=64", "k_head=8960", "k_row=64", "v_head=8960",
                                                "v_row=64", "out_head=9600", "out_row=64"]),
    ("matmul", "matmul", [], PRODUCT),
    ("matmul", "matmul", ["-D", "BM=128", "-D", "BN=128", "--num-warps=8"], PRODUCT),
    ("matmul", "matmul", ["-D", "BM=128", "-D", "BN=32", "-D", "BK=64"], PRODUCT),
    ("matmul_naive", "matmul_naive", [], PRODUCT),
    ("matmul_int4", "matmul_int4", [], ["a_ptr=randn:fp16[M,K]", "b_ptr=randint(-100,100):int32[44,N]", "scales_ptr=randn:fp16[4,N]",
                                        "c_ptr=empty:fp16[M,N]", "M=100", "N=208", "K=352", "stride_am=352", "stride_bk=208",
                                        "stride_s=208", "stride_cm=208"]),
    ("matmul_autotuned", "matmul_autotuned", [], PRODUCT),
    ("matmul_swizzle", "matmul_swizzle", [], PRODUCT),
    ("streamk", "full_tiles", [], [*SQUARE, "first_tile=0"]),
    ("grouped_gemm", "grouped_gemm", ["-D", "PROGRAMS=4"], [
        *(f"{x}_ptrs_ptr=pointers({fill}:fp16[64,64],{fill}:fp16[64,64])" for x, fill in (("a", "randn"), ("b", "randn"), ("c", "empty"))),
        "sizes_ptr=full(64):int32[6]", "strides_ptr=full(64):int32[6]", "groups=2"]),
    ("rgb2grey_dims", "rgb2grey_dims", [], ["rgb_ptr=randint(0,256):uint8[61,1500,3]", "grey_ptr=empty:uint8[61,1500]", "h=61", "w=1500"]),
    ("swizzle2d_demo", "swizzle2d_demo", [], ["in_ptr=arange:int32[20]", "out_ptr=empty:int32[20]"]),
    ("filter", "edges", [], ["in_ptr=randint(0,256):uint8[2,61,701]", "out_ptr=empty:uint8[2,61,701]", "h=61", "w=701", "planes=2"]),
    ("swiglu", "swiglu_backward", [], [*(f"{x}_ptr={'empty' if x[0] == 'd' and x != 'dout' else 'randn'}:fp16[n]"
                                         for x in ("dout", "gate", "up", "dgate", "dup")), "n=9999"]),
    ("cross_entropy", "cross_entropy_backward", [], ["logits_ptr=randn:fp32[19,4016]", "labels_ptr=randint(0,4000):int64[19]",
                                                     "dloss_ptr=randn:fp32[19]", "lse_ptr=full(9):fp32[19]",
                                                     "dlogits_ptr=empty:fp32[19,4016]", "rows=19", "classes=4001", "stride=4016"]),
    ("layer_norm", "layer_norm_backward", [], ["dy_ptr=randn:fp32[rows,1024]", "x_ptr=randn:fp32[rows,1024]", "weight_ptr=randn:fp32[1024]",
                                               "mean_ptr=zeros:fp32[rows]", "rstd_ptr=full(1):fp32[rows]", "dx_ptr=empty:fp32[rows,1024]",
                                               "dweight_ptr=empty:fp32[64,1024]", "dbias_ptr=empty:fp32[64,1024]",
                                               "lock_ptr=zeros:int32[128]", *ROWS, "stride=1024"]),
    ("layer_norm", "layer_norm_backward_sum", [], ["dweight_ptr=randn:fp32[64,1008]", "dbias_ptr=randn:fp32[64,1008]",
                                                   "final_dweight_ptr=empty:fp32[1008]", "final_dbias_ptr=empty:fp32[1008]", "groups=64",
                                                   "cols=1008"]),
]
# Kinds of instructions: how the PTX's begin, and the machine code's; what of them is counted by both.
KINDS = {"global loads": ("ld.global", "LDG", "sectors"), "global stores": ("st.global", "STG", "sectors"),
         "shared loads": ("ld.shared", "LDS", "wavefronts"), "shared stores": ("st.shared", "STS", "wavefronts"),
         "ldmatrix": ("ldmatrix", "LDSM", "wavefronts"), "stmatrix": ("stmatrix", "STSM", "wavefronts")}
COLUMN = {"sectors": "L2 Theoretical Sectors Global", "wavefronts": "L1 Wavefronts Shared"}


def run(*command):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    if p.returncode:
        raise RuntimeError(f"{' '.join(str(c) for c in command)}: {p.stdout[-400:]}{p.stderr[-800:]}")
    return p.stdout


def machine(bin_, ptx, arguments):
    """By kind, (times done, what is counted) of each instruction."""
    said = json.loads(run(bin_ / "tilerun", "--device=ptx", ptx, "--counts", "--json", *arguments))
    found = collections.defaultdict(list)
    for c in said["counts"]:
        for kind, (begin, _, what) in KINDS.items():
            if c["text"].startswith(begin):
                found[kind].append((c["warps"], c[what]))
    return found


def hardware(bin_, ptx, arguments, work):
    report = work / "report"
    run("ncu", "-f", "-o", report, "--section", "SourceCounters", "--clock-control", "none", "--launch-count", "1",
        bin_ / "tilerun", "--device=cuda", ptx, *arguments)
    text = run("ncu", "--import", f"{report}.ncu-rep", "--page", "source", "--csv", "--print-source", "sass")
    lines = text[text.index('"Address"'):]  # behind the kernel's name
    found = collections.defaultdict(list)
    for row in csv.DictReader(io.StringIO(lines)):
        words = row["Source"].split()
        op = words[1] if words and words[0].startswith("@") else words[0] if words else ""
        for kind, (_, begin, what) in KINDS.items():
            if op.split(".")[0] == begin:
                done = int(float(row["Instructions Executed"] or 0))
                count = int(float(row.get(COLUMN[what]) or 0))
                if done:
                    found[kind].append((done, count))
    return found


def main():
    bin_ = Path(sys.argv[1])
    if not shutil.which("ncu"):
        print("counters: there is no ncu")
        return 77
    root, passed, failed, lines = Path(__file__).resolve().parent.parent, 0, 0, []
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        for target in "sm_80", "sm_90a":
            for source, kernel, options, arguments in CASES:
                ptx, name = work / "kernel.ptx", f"{kernel} {' '.join(o for o in options if o != '-D')} {target}"
                try:
                    run(bin_ / "tilec", "-Wno-perf", f"--target={target}", "--single-entry", "--kernel", kernel, *options,
                        root / f"examples/{source}.tl", "-o", ptx)
                    ours, theirs = machine(bin_, ptx, arguments), hardware(bin_, ptx, arguments, work)
                except (RuntimeError, ValueError, KeyError, json.JSONDecodeError) as e:
                    print(f"counters: {name}: {str(e)[:700]}")
                    failed += 1
                    continue
                for kind in KINDS:
                    mine, its = ([x for x in of.get(kind, []) if x[1]] for of in (ours, theirs))
                    if not mine and not its:
                        continue
                    left, strange, moved = collections.Counter(count for _, count in mine), [], 0
                    for done, count in its:
                        if left[count]:
                            left[count] -= 1
                        else:
                            strange.append((done, count))
                    for done, count in list(strange):  # done more seldom, and as dear each time
                        twin = next((m for m in mine if left[m[1]] and m[0] > done and m[1] * done == count * m[0]), None)
                        if twin:
                            left[twin[1]] -= 1
                            strange.remove((done, count))
                            moved += 1
                    equal = not strange and not +left
                    passed, failed = passed + equal, failed + (not equal)
                    lines.append([name, kind, sum(x[1] for x in mine), sum(x[1] for x in its), len(mine), len(its), moved])
                    if not equal:
                        print(f"counters: {name}: {kind}: by the hardware {strange[:8]}, counted {sorted((+left).elements())[:8]}")
    if len(sys.argv) > 2:
        with open(Path(sys.argv[2]) / "counters.csv", "w", newline="") as f:
            csv.writer(f).writerows([["case", "kind", "counted", "by the hardware", "instructions", "of machine code", "moved"],
                                     *lines])
    print(f"{sum(l[-2] for l in lines)} instructions of machine code, {sum(l[-1] for l in lines)} of them moved under a condition")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

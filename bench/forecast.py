# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""forecast.py: how good `tilec --config=auto` chooses: of the times that matmul.py measured of every
config, the chosen one's beside the fastest's. Needs no GPU:
python3 bench/forecast.py matmul-spread-quick.csv … [--configs=more]"""
import argparse
import csv
import math
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kernels
from contest import geomean
from products import OURS, Problem, config_text, job_of, pick_configs

NEAR = 1.05


def measured(path):
    """{(m, n, k): {config: ms}} of our own figures."""
    out = {}
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            if row["family"] == "ours":
                out.setdefault(tuple(map(int, row["case"].split("x"))), {})[row["config"]] = float(row["ms"])
    return out


def with_list(source, folder, configs):
    """The source with these configs as its kernel's list."""
    text = (kernels.ROOT / source).read_text()
    listed = ",\n    ".join('triton.Config({"BM": %d, "BN": %d, "BK": %d}, num_warps=%d, num_stages=%d)' % c
                            for c in configs)
    head, kernel = text.rsplit("@triton.jit", 1)
    path = folder / Path(source).name
    path.write_text(f'{head}@triton.autotune(configs=[\n    {listed}], key=["M", "N", "K"])\n@triton.jit{kernel}')
    return path


def choose(tilec, problem, folder, configs, opts):
    """The config that the model chooses, as text; and what went wrong, if it does not."""
    job = job_of(OURS, problem, configs[0], opts)
    args = dict(zip(("M", "N", "K", "stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn"),
                    problem.sizes()))
    command = [tilec, str(folder / Path(job.source).name), f"--target={job.target}", "--config=auto", "--emit=manifest",
               "-o", "-", "-Wno-perf", f"--kernel={Path(job.source).stem}", "-s", ", ".join(job.signature),
               "--for=" + ",".join(f"{n}={v}" for n, v in args.items())]
    for name, value in job.defines:
        command += ["-D", f"{name}={value}"] if name not in ("BM", "BN", "BK") else []
    said = subprocess.run(command, capture_output=True, text=True).stderr
    found = re.search(r"config (\S+), by forecast", said)
    if not found:
        return None, said
    values = dict(x.split("=") for x in found.group(1).split(","))
    return config_text(tuple(int(values[x]) for x in ("BM", "BN", "BK", "num_warps", "num_stages"))), ""


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("csv", nargs="+", help="matmul-MODE-quick.csv of matmul.py")
    p.add_argument("--tilec")
    p.add_argument("--target", default="sm_90a")
    p.add_argument("--configs", default="more", help="as matmul.py takes it: of these the model chooses")
    p.add_argument("--worst", type=int, default=5, help="how many of the worst choices are shown")
    opts = p.parse_args()
    opts.flags = ""
    tilec, configs, failed = kernels.find_tilec(opts.tilec), pick_configs(opts.configs), 0
    names = [config_text(c) for c in configs]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor() as pool:
        for source in ("examples/matmul.tl", "bench/matmul_types.tl"):
            with_list(source, Path(name), configs)
        for path in opts.csv:
            times = {s: {c: ms for c, ms in all_.items() if c in names} for s, all_ in measured(path).items()}
            problems = [Problem("%dx%dx%d" % s, "fp16", *s) for s in times]
            chosen = list(pool.map(lambda x: choose(tilec, x, Path(name), configs, opts), problems))
            rows = []
            for shape, (config, why) in zip(times, chosen):
                if config not in times[shape]:
                    print(f"{shape}: {config or why}")
                    failed += 1
                    continue
                best = min(times[shape], key=times[shape].get)
                rows.append((times[shape][config] / times[shape][best], "%dx%dx%d" % shape, config, best))
            near = sum(r[0] <= NEAR for r in rows) / max(1, len(rows))
            print(f"{path}: {len(rows)} shapes, {near:.2f} of them within {NEAR - 1:.0%} of the fastest of "
                  f"{len(configs)} configs; in the mean {geomean([r[0] for r in rows]):.3f} of its time, "
                  f"{max((r[0] for r in rows), default=math.nan):.2f} at worst")
            for ratio, shape, config, best in sorted(rows, reverse=True)[:opts.worst]:
                print(f"    {ratio:.2f} {shape:<18} {config}, fastest {best}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

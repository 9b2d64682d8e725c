# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jit.py: milliseconds from source to PTX, ours and Triton's, of the kernels in examples/, with the same
types, promises, constexprs, warps and stages. Needs no GPU.

Ours: bench/jit, tile_compile in one process, the median after the first. Triton's: its own clock over
its stages up to and with `ptx` (ptxas and its disk cache left out), the median after the first, in one
process. --out=FOLDER takes jit.csv; the exit code is 5 when the ratio is below --least."""
import argparse
import csv
import importlib.util
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def program(name):
    for folder in (ROOT / "build", ROOT):
        for place in ("bin", "bench"):
            if (folder / place / name).is_file():
                return str(folder / place / name)
    sys.exit(f"jit.py: build/ has no {name}")


def kernels_of(path, target):
    """The manifest's kernels: what both are to compile."""
    run = subprocess.run([program("tilec"), f"--target={target}", "--emit=manifest", "-Wno-perf", "-o", "-", path],
                         capture_output=True, text=True)
    return json.loads(run.stdout)["kernels"] if run.returncode == 0 else []


def ours(path, kernel, target, runs):
    run = subprocess.run([program("jit"), "compile", target, str(runs), path, kernel["name"]],
                         capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr)
    first, median, _ = run.stdout.split()
    return float(first), float(median)


class Triton:
    def __init__(self, target):
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
        self.triton, self.source = triton, ASTSource
        self.target = GPUTarget("cuda", int(target.strip("sm_a")), 32)
        tl = triton.language
        self.dtypes = {str(t): t for t in vars(tl).values() if isinstance(t, tl.dtype)}
        self.times = None
        self.folder = tempfile.TemporaryDirectory()
        triton.knobs.cache.dir = self.folder.name
        triton.knobs.compilation.always_compile = True
        triton.knobs.compilation.listener = self.listen

    def listen(self, *, times, **_):
        self.times = times

    def module(self, path):
        copy = Path(self.folder.name) / (Path(path).stem + "_kernels.py")
        copy.write_text(Path(path).read_text())
        spec = importlib.util.spec_from_file_location(copy.stem, copy)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def compile(self, module, kernel):
        fn = getattr(module, kernel["name"])
        while not hasattr(fn, "arg_names") or hasattr(fn, "configs"):
            fn = fn.fn
        types = {p["name"]: p for p in kernel["params"]}
        signature, constants, attrs = {}, {}, {}
        for i, name in enumerate(fn.arg_names):
            p = types.get(name)
            if p is None or "equals" in p or "none" in p:
                signature[name] = "constexpr"
                value = kernel["constexprs"][name] if p is None else p.get("equals")
                value = self.dtypes.get(value, value) if isinstance(value, str) else value
                constants[(i,)] = value
            else:
                signature[name] = p["type"]
                if p.get("divisible", 1) == 16:
                    attrs[(i,)] = [["tt.divisibility", 16]]
        self.times = None
        self.triton.compile(self.source(fn, signature, constants, attrs), target=self.target,
                            options={"num_warps": kernel["num_warps"], "num_stages": kernel["num_stages"]})
        micro = self.times.ir_initialization
        for stage, took in self.times.lowering_stages:
            micro += took
            if stage == "ptx":
                return micro / 1e3
        raise RuntimeError("no stage is called ptx")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--target", default="sm_90a")
    p.add_argument("--runs", type=int, default=10)
    p.add_argument("--out", type=Path, default=Path("."))
    p.add_argument("--least", type=float, default=0.0, help="the ratio there must be")
    p.add_argument("sources", nargs="*", default=sorted(str(f) for f in (ROOT / "examples").glob("*.tl")))
    opts = p.parse_args()
    try:
        triton = Triton(opts.target)
    except ImportError:
        print("jit.py: there is no Triton here")
        sys.exit(77)
    rows, firsts = [], []
    print(f"{'kernel':<26}{'ours':>9}{'Triton':>9}{'ratio':>8}   first: {'ours':>8}{'Triton':>9}")
    for path in opts.sources:
        module = triton.module(path)
        for kernel in kernels_of(path, opts.target):
            try:
                theirs = [triton.compile(module, kernel) for _ in range(opts.runs + 1)]
            except Exception as e:
                text = (str(e).strip() or type(e).__name__).splitlines()[0]
                print(f"{kernel['name']:<26} left out, Triton: {text[:70]}")
                continue
            first, median = ours(path, kernel, opts.target, opts.runs + 1)
            other = statistics.median(theirs[1:])
            rows.append(dict(kernel=kernel["name"], ours_ms=f"{median:.2f}", triton_ms=f"{other:.2f}",
                             ratio=f"{other / median:.2f}", ours_first_ms=f"{first:.2f}",
                             triton_first_ms=f"{theirs[0]:.2f}"))
            print(f"{kernel['name']:<26}{median:9.2f}{other:9.2f}{other / median:8.2f}"
                  f"          {first:8.2f}{theirs[0]:9.2f}")
    if not rows:
        sys.exit("jit.py: nothing was compiled by both")
    ratios = [float(r["ratio"]) for r in rows]
    mean = math.exp(statistics.fmean(math.log(r) for r in ratios))
    print(f"\nTriton {triton.triton.__version__}: {mean:.2f} times our time in the geometric mean, "
          f"{min(ratios):.2f} at least, over {len(rows)} kernels, to PTX for {opts.target}")
    with open(opts.out / "jit.csv", "w", newline="") as f:
        writer = csv.DictWriter(f, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    sys.exit(5 if mean < opts.least else 0)


if __name__ == "__main__":
    main()

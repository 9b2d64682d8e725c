# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""beside_triton.py BIN PYTHON [SEED | FROM-TO]… [--of=kernels|fused|scores] [--minutes=N] [--keep=FOLDER]: the random kernels of
kernels.py, fused.py or scores.py beside Triton, without a GPU.

PYTHON is an interpreter that has Triton, `python3 -m venv v && v/bin/pip install triton`. It compiles each kernel for
sm_90; the PTX machine runs its PTX, for which a manifest says what a launch has to know. What it stores is compared with
what the interpreter stores of the kernel as tilec lowers it: integers bit for bit, floats with --expect's tolerance.
Triton refuses what is tilec's alone, and what it promises no more than that is left out: the order in which `reduce` takes
elements, blocks that come where nobody waits for them. --minutes goes on for so long with the seeds behind those named.
Prints what differs and the command that shows it, whose files stay then in FOLDER, and how many kernels were compared."""
import argparse
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.dont_write_bytecode = True
LIMIT = 120  # seconds of a compile or a run
WORDS = ["-Wno-perf", "--no-fp-fusion", "--single-entry", "--target=sm_90a"]
SCRATCH = {"scratch_of_triton": "zeros:i8[65536]", "profile_of_triton": "zeros:i8[4096]"}  # its last two parameters
# Triton loads ahead of loops that turn out to run not at all, and writes registers and shared memory that a wgmma may still
# read; what the PTX machine does not know; what Triton would not launch.
LEFT_OUT = re.compile(r"nobody has waited for this|behind the last wgmma\.fence|, which a wgmma of warp \d+ reads or read|"
                      r"the machine does not know|bytes of shared memory, of which")
IN_ORDER = re.compile(r"tl\.reduce\(.*\blast\b")


def compile_by_triton(source, kernel, manifest, to, options):
    """In PYTHON: the PTX of one kernel of the file, under its manifest."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    spec = importlib.util.spec_from_file_location("kernels", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, kernel)
    while not isinstance(function, triton.JITFunction):
        function = function.fn
    whole = json.loads(manifest)
    row = whole["kernels"][0]
    types = {p["name"]: p["type"] for p in row["params"]}
    signature = {p.name: types.get(p.name, "constexpr") for p in function.params}
    values = {p.name: p.default for p in function.params if p.name not in types}
    divisible = {p["name"] for p in row["params"] if p.get("divisible") == 16}
    attributes = {(i,): [["tt.divisibility", 16]] for i, p in enumerate(function.params) if p.name in divisible}
    made = triton.compile(ASTSource(fn=function, signature=signature, constexprs=values, attrs=attributes),
                          target=GPUTarget("cuda", 90, 32), options={"enable_fp_fusion": False, **json.loads(options)})
    ptx = made.asm["ptx"]
    row = {key: row[key] for key in ("name", "constexprs", "num_stages", "cluster", "grid", "hidden")}
    row["params"] = [{"name": n, "type": t} for n, t in types.items()] + [{"name": n, "type": "*i8"} for n in SCRATCH]
    row["entry"] = re.search(r"\.visible \.entry (\w+)", ptx).group(1)
    row["num_warps"] = int(re.search(r"\.reqntid (\d+)", ptx).group(1)) // 32  # more where warps have roles
    row["shared"] = made.metadata.shared
    whole["kernels"] = [row]
    Path(to).write_text(f"// tilec manifest begin\n// {json.dumps(whole)}\n// tilec manifest end\n{ptx}")


def run(*command):
    """(exit code, what was said)"""
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return -1, f"no end within {LIMIT} s"
    return done.returncode, done.stdout + done.stderr


class Flat:
    """A kernel of kernels.py."""
    options = {"num_warps": 4}

    def __init__(self, seed, folder):
        from generate import Kernel
        from tiles import HELPERS

        kernel = Kernel(seed)
        self.name, self.text, self.results = kernel.name, HELPERS + kernel.text(False), kernel.results()
        self.arguments = [str(a) for a in kernel.arguments()]


class Written:
    """A kernel of fused.py or scores.py, whose constexprs become defaults."""

    def __init__(self, name, seed, folder):
        module = importlib.import_module(name)
        kernel = getattr(module, name.capitalize())(seed)
        self.name, text = name, kernel.write()
        for constexpr, value in kernel.constants().items():
            text = text.replace(f"{constexpr}: tl.constexpr", f"{constexpr}: tl.constexpr = {value}")
        self.text = text.replace("@triton.jit", f"# tile: grid = {', '.join(map(str, kernel.grid))}\n@triton.jit")
        self.arguments, self.results = kernel.arguments(f"{folder}/{name}"), [f"{x}_ptr" for x in kernel.stored()]
        self.options = {"num_warps": kernel.warps, "num_stages": kernel.stages}


KINDS = {"kernels": Flat, "fused": partial(Written, "fused"), "scores": partial(Written, "scores")}


def compare(bin_, python, of, seed, folder):
    """(same, differs, refused or left out; what was said; the command)"""
    kernel, source = KINDS[of](seed, folder), folder / "kernel.py"
    source.write_text(kernel.text)
    if IN_ORDER.search(kernel.text):
        return "left out", "", []
    warps = f"--num-warps={kernel.options['num_warps']}"
    for name, words in (("kernel.tir", []), ("kernel.ptx", WORDS)):
        command = [bin_ / "tilec", source, f"--kernel={kernel.name}", warps, "-Wno-perf", "--no-fp-fusion", *words, "-o", folder / name]
        code, said = run(*command)
        if code:
            return "differs", said, command
    told = (folder / "kernel.ptx").read_text().split("// tilec manifest end\n")[0]
    manifest = "\n".join(line[3:] for line in told.splitlines()[1:])
    theirs = folder / "triton.ptx"
    code, said = run(python, __file__, "--compile", source, kernel.name, manifest, theirs, json.dumps(kernel.options))
    if code:
        return "refused", said, []
    arguments, results = kernel.arguments, kernel.results
    command = [bin_ / "tilerun", folder / "kernel.tir", "--device=cpu", *arguments, *[f"--save={r}={folder / r}.npy" for r in results]]
    code, said = run(*command)
    if code:
        return "differs", said, command
    command = [bin_ / "tilerun", theirs, "--device=ptx:sm_90a", "--check=none", *arguments,
               *[f"{n}={v}" for n, v in SCRATCH.items()], *[f"--expect={r}={folder / r}.npy" for r in results]]
    code, said = run(*command)
    raced = run(*[word.replace("=none", "=races") if str(word).startswith("--check") else word for word in command])[1] if code else ""
    return "left out" if LEFT_OUT.search(said + raced) else "differs" if code else "same", said, command


def main():
    if sys.argv[1:2] == ["--compile"]:
        return compile_by_triton(*sys.argv[2:])
    from source import seeds_of

    p = argparse.ArgumentParser(description="random kernels beside Triton's code", allow_abbrev=False)
    p.add_argument("bin", type=lambda x: Path(x).resolve())
    p.add_argument("python")
    p.add_argument("seeds", nargs="*", default=["0-99"])
    p.add_argument("--of", choices=KINDS, default="kernels")
    p.add_argument("--minutes", type=float, default=0)
    p.add_argument("--keep", type=Path)
    o = p.parse_args()
    keep = (o.keep or Path(tempfile.mkdtemp(prefix="beside-"))).resolve()
    seeds, end, counts = seeds_of(o.seeds), time.monotonic() + 60 * o.minutes, {}
    seed = seeds[0] - 1
    while True:
        seed = seeds.pop(0) if seeds else seed + 1
        folder = keep / str(seed)
        folder.mkdir(parents=True, exist_ok=True)
        how, said, command = compare(o.bin, o.python, o.of, seed, folder)
        counts[how] = counts.get(how, 0) + 1
        if how == "differs":
            print(f"seed {seed}: {said.strip()[-1000:]}\n  {shlex.join(str(c) for c in command)}", flush=True)
        else:
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
        if not seeds and time.monotonic() >= end:
            break
    if not os.listdir(keep):
        keep.rmdir()
    print(f"{counts.get('refused', 0)} kernels are tilec's alone, {counts.get('left out', 0)} say more than Triton promises")
    print(f"{counts.get('same', 0)} passed, {counts.get('differs', 0)} failed")
    return bool(counts.get("differs"))


if __name__ == "__main__":
    sys.exit(main())

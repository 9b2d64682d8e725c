# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""triton_ptx.py: what Triton makes of the tests' kernels, run by the PTX machine and judged by the tests.

  python tests/replay/triton_ptx.py [--target=GPU]… [--from=LIST] [--only=TEXT] [--each=N] [--keep=FOLDER]

For a Python that has a Triton; no GPU is needed. tile-kernels and tile-conformance write down what they
compile (--ptx): sources, and tilec's PTX, whose manifest says what a launch passes. The same sources go
through Triton for sm_80 and sm_90a or the targets named; its PTX, with a manifest of its own, through both
tests again (--code), on the device ptx. --each takes so many variants of a file at most, 0 all; --only those
whose title contains TEXT; --keep leaves everything in FOLDER.

A kernel loads when the machine knows all that is in it, runs when no launch is refused, and is equal when
the tests find nothing wrong. Exit code 1: something is not."""
import argparse
import collections
import importlib.util
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 120       # of one kernel: some compilers hang
LIMIT = 60          # seconds, of the runs of one kernel
PROGRAMS = 4096     # for so many there is scratch memory
WIDTHS = {"i64": 64, "u64": 64, "fp64": 64, "i32": 32, "u32": 32, "fp32": 32, "i16": 16, "u16": 16,
          "fp16": 16, "bf16": 16}
DTYPES = {"i1": "int1", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
          "u16": "uint16", "u32": "uint32", "u64": "uint64", "fp16": "float16", "bf16": "bfloat16",
          "fp32": "float32", "fp64": "float64", "fp8e5": "float8e5", "fp8e4nv": "float8e4nv"}
BEGIN, END = "// tilec manifest begin\n", "// tilec manifest end\n"


class Job:
    """A kernel that a test has compiled, by the three files of tests/run/corpus.h."""

    def __init__(self, stem):
        self.stem = stem
        lines = stem.with_suffix(".args").read_text().splitlines()
        self.title = lines[0]
        self.file = re.split("[|,]", self.title)[0]
        self.target = next(a[9:] for a in lines if a.startswith("--target="))
        text = stem.with_suffix(".ptx").read_text().split(BEGIN, 1)[1].split(END, 1)[0]
        self.manifest = json.loads("".join(line[3:] for line in text.splitlines(True)))
        self.kernel = self.manifest["kernels"][0]
        given = next((a[12:] for a in lines if a.startswith("--signature=")), "")
        pieces = [p.strip() for p in given.split(",")] if given else []
        names = [p["name"] for p in self.kernel["params"]]
        self.types = {n: p.partition("=")[2] or p for n, p in zip(names, pieces)}

    def hash(self):
        """As corpus_code has it."""
        h = 0xCBF29CE484222325
        for byte in self.title.encode():
            h = (h ^ byte) * 0x100000001B3 % 2**64
        return f"{h:016x}"


def constant(value, default):
    """A constexpr as a source has it, from the manifest's."""
    import triton.language as tl
    if isinstance(value, str) and not isinstance(default, str) and value in DTYPES:
        return getattr(tl, DTYPES[value])
    return value


def find_function(job):
    path = job.stem.with_name(job.stem.name + "_source.py")
    shutil.copyfile(job.stem.with_suffix(".tl"), path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    fn = getattr(module, job.kernel["name"])
    while not hasattr(fn, "params"):  # autotune, heuristics
        fn = fn.fn
    return fn


def compile_by_triton(job):
    """PTX, what Triton says of it, and the names of the parameters that it takes, in order."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import CUDABackend
    from triton.compiler import ASTSource
    CUDABackend.make_cubin = lambda *_: b""  # nobody runs it
    fn = find_function(job)
    types, constants, attributes, taken = {}, {}, {}, []
    for number, param in enumerate(fn.params):
        name = param.name
        kind, _, promise = job.types.get(name, "").partition(":")
        if name in job.kernel["constexprs"] or param.is_constexpr or kind == "None":
            types[name] = "constexpr"
            constants[(number,)] = constant(job.kernel["constexprs"].get(name), param.default)
        elif promise == "1":
            types[name], constants[(number,)] = "constexpr", 1
        elif not kind:
            raise ValueError("an argument with parts")
        else:
            types[name] = kind
            taken.append(name)
            if promise == "16":
                attributes[(number,)] = [["tt.divisibility", 16]]
    options = dict(num_warps=job.kernel["num_warps"], num_stages=job.kernel["num_stages"])
    arch = int(re.search(r"\d+", job.target).group())
    made = triton.compile(ASTSource(fn, types, constants, attributes), target=GPUTarget("cuda", arch, 32),
                          options=options)
    return made.asm["ptx"], made.metadata, taken


def wrap(job, ptx, said, taken):
    """Triton's PTX with the parameters of tilec's manifest, in its order: those that Triton leaves out,
    too. Scratch memory, which its launcher makes, becomes a variable of the file."""
    found = re.search(r"\.entry\s+" + re.escape(said.name) + r"\((.*?)\)", ptx, re.S)
    lines = [p.strip() for p in found.group(1).split(",")] if found.group(1).strip() else []
    own, params = dict(zip(taken, lines)), []
    for number, p in enumerate(job.kernel["params"]):
        width = 64 if p["type"].startswith("*") else WIDTHS.get(p["type"], 8)
        params.append(own.get(p["name"], f".param .b{width} unused_{number}"))
    ptx = ptx[:found.start(1)] + "\n\t" + ",\n\t".join(params) + "\n" + ptx[found.end(1):]
    for extra, size in zip(lines[len(taken):], (said.global_scratch_size, said.profile_scratch_size)):
        name = extra.split()[-1]
        if f"[{name}]" not in ptx:
            continue
        ptx = re.sub(r"ld\.param\.\w+(\s+%\w+), \[" + name + r"\];", r"mov.b64\1, " + name + ";", ptx)
        variable = f".visible .global .align 128 .b8 {name}[{max(size, 1) * PROGRAMS}];\n"
        ptx = re.sub(r"(\.address_size 64\n)", r"\1" + variable, ptx)
    kernel = {k: job.kernel[k] for k in ("name", "params", "constexprs", "num_warps", "num_stages", "grid")}
    threads = int(re.search(r"\.reqntid (\d+)", ptx).group(1))
    kernel.update(entry=said.name, num_warps=threads // 32, shared=said.shared, cluster=[1, 1, 1], hidden=[])
    text = json.dumps(dict(job.manifest, kernels=[kernel]), indent=1)
    head = "".join(f"// {line}\n" for line in text.splitlines())
    return f"// {job.title}\n{BEGIN}{head}{END}{ptx}"


def compile_one(job, folder):
    """In a process of its own: writes the PTX, or why there is none."""
    log = os.open(job.stem.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        ptx = wrap(job, *compile_by_triton(job))
        (folder / f"{job.hash()}.ptx").write_text(ptx)
    except Exception as e:  # of whatever kind: it is this kernel's reason
        lines = str(e).strip().splitlines() or [type(e).__name__]
        job.stem.with_suffix(".why").write_text(lines[-1][:160])


def compile_all(jobs, folder, at_once):
    import triton  # once, before the others are forked off
    import triton.compiler  # noqa: F401
    fork, running, waiting = multiprocessing.get_context("fork"), [], list(reversed(jobs))
    while running or waiting:
        while waiting and len(running) < at_once:
            worker = fork.Process(target=compile_one, args=(waiting.pop(), folder))
            worker.start()
            running.append((worker, time.monotonic() + SECONDS))
        multiprocessing.connection.wait([w.sentinel for w, _ in running], timeout=1)
        for worker, end in running:
            if worker.is_alive() and time.monotonic() > end:
                worker.kill()
        running = [(w, end) for w, end in running if w.is_alive()]
    return {j.title: j for j in jobs if (folder / f"{j.hash()}.ptx").exists()}


def output_of(command, limit=None):
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode not in (0, 5):
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout


UNKNOWN = re.compile(r"the machine does not know|not understood|no function '|no such register|too few operands")


def judge(text):
    """What became of the kernels, by title: a stage and a reason; those not named here are right."""
    out = {}
    for line in re.split(r"\n(?=FAILED: |variant |.*\d+ passed)", text):
        rule = re.match(r"FAILED: (.*?\.tl(?:, T = \S+?)?, \d+ warps?): (.*)", line, re.S)
        variant = re.match(r"variant (.*?): (\d+) launched, (\d+) wrong(?:, refused: (.*))?", line, re.S)
        if rule and rule.group(1) not in out:
            reason = rule.group(2)
            stage = ("loads" if UNKNOWN.search(reason) else
                     "equal" if re.match(r"\S+\[\d+\] is ", reason) else "runs")
            out[rule.group(1)] = stage, reason
        if variant and (variant.group(4) or int(variant.group(3))):
            name, reason = variant.group(1), variant.group(4) or ""
            out[name] = ("loads" if reason else "equal"), reason or f"{variant.group(3)} cases"
    return out


def run_all(tool, target, compiled, code, at_once):
    """Each file by itself: one may never end. What is not right, as judge gives it."""
    device = "ptx" if target == "sm_90a" else f"ptx:{target}"
    files = collections.defaultdict(list)
    for job in compiled.values():
        files["examples" if job.file.startswith("examples/") else Path(job.file).stem].append(job.title)

    def one(name):
        only = [f"--rule={name}.tl"] if "conformance" in tool.name else [f"--kernel={name}", "--size=tiny"]
        text = output_of([tool, f"--code={code}", f"--device={device}", f"--target={target}", *only],
                         LIMIT * len(files[name]))
        if text is None:
            return {t: ("runs", f"no end within {LIMIT * len(files[name])} s") for t in files[name]}
        return {t: v for t, v in judge(text).items() if t in files[name]}
    bad = {}
    with ThreadPoolExecutor(at_once) as pool:
        for part in pool.map(one, files):
            bad.update(part)
    return bad


def run_kind(kind, target, opts, folder):
    tool = ROOT / "build/bin" / {"kernels": "tile-kernels", "rules": "tile-conformance"}[kind]
    more = ["--size=tiny"] if kind == "kernels" else ["--rule=.tl"]
    corpus, code = folder / "corpus", folder / "code"
    corpus.mkdir(parents=True)
    code.mkdir()
    output_of([tool, f"--ptx={corpus}", f"--target={target}", *more])
    jobs, seen = [], collections.Counter()
    for args in sorted(corpus.glob("*.args")):
        job = Job(args.with_suffix(""))
        source = args.with_suffix(".tl").read_text()
        if opts.only not in job.title or re.search(r"^# tile: triton\b", source, re.M):
            continue  # of another Triton
        key = job.file, str(job.kernel["constexprs"])
        seen[key] += 1
        if not opts.each or seen[key] <= opts.each:
            jobs.append(job)
    compiled = compile_all(jobs, code, opts.jobs)
    bad = run_all(tool, target, compiled, code, opts.jobs)
    for title, (stage, reason) in sorted(bad.items()):
        print(f"  {title}: not {stage}: {reason.strip()[:700]}")
    refused = collections.Counter(j.stem.with_suffix(".why").read_text() if j.stem.with_suffix(".why").exists()
                                  else "the compiler ended" for j in jobs if j.title not in compiled)
    for reason, n in refused.most_common():
        print(f"  {n} not compiled by Triton: {reason}")
    stages = collections.Counter(stage for stage, _ in bad.values())
    n = len(compiled)
    loads = n - stages["loads"]
    runs = loads - stages["runs"]
    row = f"{kind:8} {target:7} {n:5} {loads:5} {runs:5} {runs - stages['equal']:5}"
    unknown = collections.Counter(m for stage, reason in bad.values() if stage == "loads"
                                  for m in set(re.findall(r"does not know .*? '(.*?)'", reason)))
    return row, unknown, not bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--target", action="append")
    p.add_argument("--from", dest="kinds", default="rules,kernels")
    p.add_argument("--only", default="")
    p.add_argument("--each", type=int, default=0)
    p.add_argument("--keep", type=Path)
    p.add_argument("--jobs", type=int, default=2)
    opts = p.parse_args()
    work = opts.keep or Path(tempfile.mkdtemp())
    os.environ.update(TRITON_DISABLE_LINE_INFO="1", TRITON_CACHE_DIR=str(work / "cache"))
    rows, unknown, good = [], collections.Counter(), True
    for target in opts.target or ["sm_80", "sm_90a"]:
        for kind in opts.kinds.split(","):
            folder = work / f"{kind}-{target}"
            shutil.rmtree(folder, ignore_errors=True)
            row, more, fine = run_kind(kind, target, opts, folder)
            rows.append(row)
            unknown += more
            good &= fine
            print(row, flush=True)
    print("\nkernels  target      n loads  runs equal", *rows, sep="\n")
    for word, n in unknown.most_common():
        print(f"{n:5} not known: {word}")
    if not opts.keep:
        shutil.rmtree(work)
    sys.exit(not good)


if __name__ == "__main__":
    main()

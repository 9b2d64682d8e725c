# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""newer_triton.py FOLDER: compiles what matmul.py and attention.py ask of Triton by the Triton of this
Python, for a GPU that need not be here, and leaves the kernels and index.json in FOLDER. Those benches
launch them by --newer=FOLDER on a machine that has an older Triton.

The Jobs are the benches' own, and a specialisation is what Triton's jit would make of their arguments.
What a kernel takes, as the index has it, is held against the sizes and offsets that ptxas wrote into it."""
import argparse
import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from multiprocessing import connection
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")  # most of a kernel's bytes, none of its instructions

import attention
import kernels
import matmul
import newer
from products import TYPES, job_of, pick_configs, takes, taken_by

# Of a source that takes tensor maps: base, its sizes, its blocks.
MAPS = {"bench/matmul_maps.py": [("a_ptr", ("M", "K"), ("BM", "BK")), ("b_ptr", ("K", "N"), ("BK", "BN")),
                                 ("c_ptr", ("M", "N"), ("BM", "BN"))]}
ARGUMENTS = ["a_ptr", "b_ptr", "c_ptr", "M", "N", "K", "stride_am", "stride_ak", "stride_bk", "stride_bn",
             "stride_cm", "stride_cn"]
ROWS = {"a_ptr": "stride_am", "b_ptr": "stride_bk", "c_ptr": "stride_cm"}
SECONDS = 300  # of one kernel: some compilers hang


def jobs_asked(opts):
    """Every Job of the benches, in their order."""
    found, families = [], matmul.newer_families("")
    for mode in opts.modes.split(","):
        for kind in opts.types.split(","):
            for problem in (p for group in matmul.MODES[mode][0](opts, kind) for p in group):
                found += [job_of(f, problem, c, opts) for f in families if takes(f, problem)
                          for c in taken_by(f, pick_configs(opts.configs))]
    for head in opts.heads.split(",") if opts.heads else []:
        opts.head = int(head)
        found += [attention.job_of(1024, causal, c, opts) for causal in (False, True) for c in attention.CONFIGS]
    return list(dict.fromkeys(found))


class Kernel:
    """A job as Triton's compiler takes it, and what its launcher would pass."""

    def __init__(self, fn, job):
        self.types, self.constants, self.attributes, self.params = {}, {}, {}, []
        given = kernels.TritonKernels.constants(job)
        self.options = dict(num_warps=given.pop("num_warps"), num_stages=given.pop("num_stages"))
        maps = MAPS.get(job.source, [])
        self.arguments = ARGUMENTS if maps else [p.name for p in fn.params if not p.is_constexpr]
        # Triton names its block types in words: tensordesc<fp16[128, 64]>.
        element = {name: sig[1:].split(":")[0] for name, sig in zip(self.arguments, job.signature) if sig[0] == "*"}
        for number, param in enumerate(fn.params):
            if param.is_constexpr:
                self.types[param.name] = "constexpr"
                self.constants[(number,)] = given.get(param.name, param.default)
            elif number < len(maps):
                base, sizes, block = maps[number]
                self.types[param.name] = f"tensordesc<{element[base]}{[given[b] for b in block]}>"
                self.params.append(dict(type="map", map=dict(
                    base=base, type=element[base], offset="0", sizes=list(sizes), strides=[ROWS[base], "1"])))
                index = self.arguments.index
                self.params += [dict(type="i32", argument=index(s)) for s in sizes]
                self.params += [dict(type="i64", argument=index(ROWS[base])), dict(type="i64", worth=1)]
            else:
                self.plain(number, param.name, job.signature[number])

    def plain(self, number, name, text):
        kind, _, promise = text.partition(":")
        if promise == "1":
            self.types[name], self.constants[(number,)] = "constexpr", 1
            return
        self.types[name] = kind
        pointer = kind[0] == "*"
        self.params.append(dict(type="ptr" if pointer else kind, argument=number))
        if pointer:
            self.params[-1]["divisible"] = int(promise or 1)
        if promise == "16":
            self.attributes[(number,)] = [["tt.divisibility", 16]]

    def finish(self, made):
        """The maps' boxes, which the compiler chooses, and the memory that a launcher provides."""
        maps = [p["map"] for p in self.params if p["type"] == "map"]
        for m, said in zip(maps, made.get("tensordesc_meta") or []):
            m.update(box=said["block_size"], swizzle=(0, 32, 64, 128)[said["swizzle"]])
            if said["fp4_padded"] or said["is_im2col"]:
                raise ValueError("a tensor map of another kind")
        return self.params + [dict(type="scratch"), dict(type="profile")]


def sections(cubin):
    """{name: bytes} of an ELF file of 64 bits."""
    start, = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    heads = [struct.unpack_from("<IIQQQQ", cubin, start + i * size) for i in range(count)]
    texts = heads[names]
    return {cubin[texts[4] + h[0]:cubin.index(b"\0", texts[4] + h[0])].decode():
            b"" if h[1] == 8 else cubin[h[4]:h[4] + h[5]] for h in heads}


def facts(info):
    """Pairs of a number and the bytes of each entry of an .nv.info section."""
    at = 0
    while at + 4 <= len(info):
        form, what, size = struct.unpack_from("<BBH", info, at)
        length = size if form == 4 else 0
        yield what, info[at + 4:at + 4 + length] if form == 4 else info[at + 2:at + 4]
        at += 4 + length


PARAMETER, PARAMETER_BYTES, PARAMETER_BANK, THREADS, REGISTERS, FRAME = 0x17, 0x19, 0x0a, 0x10, 0x2f, 0x11


def inspect(cubin, entry):
    """What ptxas wrote into a kernel: parameters as (offset, size), their bytes, threads, registers, stack."""
    found = sections(cubin)
    own, common = list(facts(found[".nv.info." + entry])), list(facts(found[".nv.info"]))
    params = sorted((ordinal, offset, bits >> 18) for _, ordinal, offset, bits in
                    (struct.unpack("<IHHI", b) for what, b in own if what == PARAMETER))

    def last(pairs, wanted, form, default=0):
        return next((struct.unpack(form, b)[-1] for what, b in pairs if what == wanted), default)
    threads = next((struct.unpack("<III", b) for what, b in own if what == THREADS), (0, 0, 0))
    return dict(params=[p[1:] for p in params], bytes=last(own, PARAMETER_BYTES, "<H"),
                base=last(own, PARAMETER_BANK, "<II") & 0xffff, threads=threads,
                registers=last(common, REGISTERS, "<II"), stack=last(common, FRAME, "<II"))


def differs(params, threads, seen):
    """What a kernel's own description says otherwise than the index, or nothing."""
    laid = newer.offsets(params, seen["base"])
    if laid != seen["params"]:
        return f"parameters at {seen['params']}, not {laid}"
    if laid and sum(laid[-1]) != seen["bytes"]:
        return f"{seen['bytes']} bytes of parameters, not {sum(laid[-1])}"
    return "" if seen["threads"] == (threads, 1, 1) else f"{seen['threads']} threads, not {threads}"


def reason_of(error, log):
    """One line: the compiler's first complaint, else the exception's last line."""
    said = re.search(r"error: (.*)", log)
    text = said.group(1) if said else (str(error).strip().splitlines() or [type(error).__name__])[-1]
    return re.sub(r"\s+", " ", text)[:160]


def compile_one(job, stem):
    """In a process of its own: writes stem.cubin and stem.json."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    log = open(stem.with_suffix(".log"), "w+")
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    try:
        stem.mkdir()  # the source's copy, apart from a neighbour's
        fn = kernels.load_jit(stem, job)
        kernel = Kernel(fn, job)
        made = triton.compile(ASTSource(fn, kernel.types, kernel.constants, kernel.attributes),
                              target=GPUTarget("cuda", 90, 32), options=kernel.options)
        said, cubin = made.metadata._asdict(), made.asm["cubin"]
        params, threads = kernel.finish(said), said["num_warps"] * 32
        seen = inspect(cubin, said["name"])
        record = dict(cubin=hashlib.sha256(cubin).hexdigest()[:20] + ".cubin", entry=said["name"],
                      shared=said["shared"], threads=threads, registers=seen["registers"], stack=seen["stack"],
                      scratch=[said["global_scratch_size"], said["global_scratch_align"]],
                      profile=[said["profile_scratch_size"], said["profile_scratch_align"]],
                      arguments=kernel.arguments, params=params)
        odd = [n for n in ("launch_pdl", "launch_cooperative_grid") if said.get(n)]
        if said.get("num_ctas", 1) != 1 or odd:
            record = dict(error="a launch of another kind: " + " ".join(odd or ["clusters"]))
        elif said["shared"] > kernels.SHARED_LIMIT:
            record = dict(error=f"needs {said['shared']} bytes of shared memory")
        elif dict(job.defines).get("SPECIAL") and threads == job.warps * 32:
            record = dict(error="Triton did not specialise its warps")
        elif differs(params, threads, seen):
            record = dict(error=differs(params, threads, seen), wrong=True)
        else:
            stem.with_suffix(".cubin").write_bytes(cubin)
    except Exception as e:  # of whatever kind: it is this config's reason
        log.flush()
        record = dict(error=reason_of(e, Path(log.name).read_text()))
    stem.with_suffix(".json").write_text(json.dumps(record))


def outcome(stem, worker):
    """What a process that ended left: a record, and the kernel's bytes."""
    cubin, record = stem.with_suffix(".cubin"), stem.with_suffix(".json")
    if not record.exists():
        return dict(error=f"the compiler ended with {worker.exitcode}"), b""
    return json.loads(record.read_text()), cubin.read_bytes() if cubin.exists() else b""


def compile_all(jobs, folder, at_once):
    """Outcomes in the jobs' order. Each has a process to itself: what crashes or hangs is a reason, too."""
    fork, running, out = multiprocessing.get_context("fork"), {}, {}
    while len(out) < len(jobs):
        while len(running) < at_once and len(running) + len(out) < len(jobs):
            number = len(running) + len(out)
            worker = fork.Process(target=compile_one, args=(jobs[number], folder / str(number)))
            worker.start()
            running[number] = worker, time.monotonic() + SECONDS
        connection.wait([w.sentinel for w, _ in running.values()], timeout=1)
        for number, (worker, end) in list(running.items()):
            if worker.is_alive() and time.monotonic() < end:
                continue
            late = worker.is_alive()
            worker.kill()
            worker.join()
            out[number] = (dict(error=f"not compiled within {SECONDS} s"), b"") if late else outcome(
                folder / str(number), worker)
            del running[number]
    return [out[n] for n in range(len(jobs))]


def ptxas_version():
    from triton.backends.nvidia.compiler import get_ptxas
    said = subprocess.run([get_ptxas(90).path, "--version"], capture_output=True, text=True).stdout
    return re.search(r"V([\d.]+)", said).group(1)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("folder", type=Path)
    p.add_argument("--types", default="fp16,bf16", help="of " + ",".join(TYPES))
    p.add_argument("--modes", default="squares,awkward,long,skinny", help="of matmul.py's")
    p.add_argument("--sizes", default="", help="as matmul.py takes them; multiples of 16 have the same kernels")
    p.add_argument("--configs", default="all")
    p.add_argument("--heads", default="128", help="of attention.py; none: --heads=")
    p.add_argument("--ptxas", help="another assembler than the one in Triton's package")
    p.add_argument("--jobs", type=int, default=2, help="compilers at a time")
    opts = p.parse_args(namespace=SimpleNamespace(target="sm_90a", flags=""))
    if opts.ptxas:
        os.environ["TRITON_PTXAS_BLACKWELL_PATH"] = opts.ptxas  # so called whatever the GPU
    jobs = jobs_asked(opts)
    opts.folder.mkdir(parents=True, exist_ok=True)
    for old in opts.folder.glob("*.cubin"):
        old.unlink()
    table = dict(triton=importlib.metadata.version("triton"), ptxas=ptxas_version(), kernels={}, failed={},
                 sources={s: newer.digest(kernels.ROOT / s) for s in sorted({j.source for j in jobs})})
    wrong = 0
    with tempfile.TemporaryDirectory() as box:
        for job, (record, cubin) in zip(jobs, compile_all(jobs, Path(box), opts.jobs)):
            wrong += record.pop("wrong", False)
            if "error" in record:
                table["failed"][newer.key_of(job)] = record["error"]
                print(f"{newer.key_of(job)}: {record['error']}", flush=True)
            else:
                table["kernels"][newer.key_of(job)] = record
                (opts.folder / record["cubin"]).write_bytes(cubin)
    (opts.folder / newer.INDEX).write_text(json.dumps(table, separators=(",", ":")))
    files = list(opts.folder.iterdir())
    print(f"Triton {table['triton']}, ptxas {table['ptxas']}: {len(table['kernels'])} kernels, {len(table['failed'])} "
          f"left out, {len(files) - 1} files, {sum(f.stat().st_size for f in files) / 1e6:.1f} MB")
    return 5 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

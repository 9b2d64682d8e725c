# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kernels.py: kernel sources into things that can be launched: ours through tilec, ptxas and the CUDA
driver, the same sources through Triton's jit, both on torch's tensors and its current stream.

A Job says what to compile. Everything a bench needs is compiled at once, before anything is timed:
ours by several tilec processes, Triton's by several threads."""
import ctypes
import hashlib
import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import entries

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SHARED_LIMIT = 227 * 1024  # what a program may have on sm_90


@dataclass(frozen=True)
class Job:
    source: str          # relative to the folder above bench/
    signature: tuple     # as signature() gives it
    defines: tuple       # pairs; a value "tl.int32" and the like is a dtype
    warps: int
    stages: int
    target: str = "sm_90a"
    flags: tuple = ()    # more options of tilec
    kernel: str = None   # None: named as the file


@dataclass
class Built:
    job: Job
    code: bytes = b""
    manifest: dict = field(default_factory=dict)
    registers: int = 0
    spills: int = 0      # bytes stored and loaded, and the stack frame
    serial: bool = False  # ptxas said that it serialised wgmma
    seconds: float = 0.0
    error: str = ""


def signature(args):
    """The types of the arguments with what Triton would specialise on: 1, and multiples of 16. A
    pointer is given as its element type, 'fp16'."""
    def one(a):
        if isinstance(a, str):
            return f"*{a}:16"
        if isinstance(a, float):
            return "fp32"
        wide = "i32" if -2**31 <= a < 2**31 else "i64"
        return wide + (":1" if a == 1 else ":16" if a % 16 == 0 else "")
    return tuple(one(a) for a in args)


def find_program(given, *places):
    for p in (given,) if given else places:
        found = p and shutil.which(str(p))
        if found:
            return found
    return None


def find_tilec(given=None):
    """--tilec=PATH, else of the stage or the build that this folder lies in."""
    found = find_program(given, ROOT / "bin/tilec", ROOT / "build/bin/tilec")
    if not found:
        raise SystemExit("tilec is not to be found: give --tilec=PATH")
    return found


def find_ptxas():
    """The CUDA toolkit's, else the one in Triton's package; None: the driver translates instead."""
    spec = importlib.util.find_spec("triton")
    bundled = Path(spec.origin).parent / "backends/nvidia/bin/ptxas" if spec else None
    home = os.environ.get("CUDA_HOME")
    return find_program(None, home and f"{home}/bin/ptxas", "ptxas", "/usr/local/cuda/bin/ptxas", bundled)


def read_manifest(ptx):
    head = ptx.split("// tilec manifest begin\n", 1)[1].split("// tilec manifest end\n", 1)[0]
    return json.loads("".join(line[3:] for line in head.splitlines(True)))["kernels"][0]


class Compiler:
    """Compiles jobs for a GPU of `arch` ('sm_90') and keeps what it made."""

    def __init__(self, tilec, arch="sm_90", threads=None):
        self.tilec, self.arch = tilec, arch
        self.ptxas = find_ptxas()
        self.threads = threads or os.cpu_count() or 1
        self.built = {}
        self.folder = Path(tempfile.mkdtemp(prefix="tilec-bench-"))

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def build(self, jobs):
        """All of them, several at a time; returns what is new."""
        new = [j for j in dict.fromkeys(jobs) if j not in self.built]
        with ThreadPoolExecutor(self.threads) as pool:
            for job, built in zip(new, pool.map(self._build, new)):
                self.built[job] = built
        return [self.built[j] for j in new]

    def _build(self, job):
        out, started = Built(job), time.monotonic()
        stem = self.folder / hashlib.sha256(repr(job).encode()).hexdigest()[:24]
        ptx, cubin = stem.with_suffix(".ptx"), stem.with_suffix(".cubin")
        command = [self.tilec, str(ROOT / job.source), "-o", str(ptx), f"--target={job.target}",
                   f"--num-warps={job.warps}", f"--num-stages={job.stages}", "-Wno-perf",
                   "-s", ", ".join(job.signature), *job.flags]
        if job.kernel:
            command.append(f"--kernel={job.kernel}")
        for name, value in job.defines:
            command += ["-D", f"{name}={value}"]
        done = subprocess.run(command, capture_output=True, text=True)
        out.seconds = time.monotonic() - started
        if done.returncode:
            out.error = (done.stderr.strip().splitlines() or ["tilec failed"])[0]
            return out
        text = ptx.read_text()
        out.manifest = read_manifest(text)
        if out.manifest["shared"] > SHARED_LIMIT:
            out.error = f"needs {out.manifest['shared']} bytes of shared memory"
        elif self.ptxas:
            self._assemble(out, ptx, cubin)
        else:
            out.code = text.encode() + b"\0"
        return out

    def _assemble(self, out, ptx, cubin):
        arch = out.job.target if out.job.target.endswith("a") else self.arch
        done = subprocess.run([self.ptxas, "-v", f"-arch={arch}", str(ptx), "-o", str(cubin)],
                              capture_output=True, text=True)
        said = done.stdout + done.stderr
        if done.returncode:
            out.error = "ptxas: " + (said.strip().splitlines() or ["failed"])[0]
            return
        out.code = cubin.read_bytes()
        found = re.search(r"Used (\d+) registers", said)
        out.registers = int(found.group(1)) if found else 0
        out.spills = sum(int(n) for n in re.findall(r"(\d+) bytes (?:stack frame|spill)", said))
        out.serial = bool(re.search(r"\bC75\d\d\b", said))


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("unused", ctypes.c_int), ("value", ctypes.c_int * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)]


EARLY = LaunchAttribute(id=6, value=(1,))  # programmatic stream serialization


class Driver:
    """The few calls of the CUDA driver that load and launch what tilec made."""
    MAX_DYNAMIC_SHARED = 8

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.lib.cuLaunchKernelEx.argtypes = [ctypes.c_void_p] * 4
        self.functions = {}

    def check(self, code, what):
        if code:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{what}: {(text.value or b'error').decode()} ({code})")

    def function(self, built, entry):
        key = built.job, entry["entry"]
        if key not in self.functions:
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            self.check(self.lib.cuModuleLoadData(ctypes.byref(module), built.code), "load " + key[1])
            self.check(self.lib.cuModuleGetFunction(ctypes.byref(function), module, key[1].encode()),
                       "find " + key[1])
            most = entry.get("shared_single_cta", entry["shared"])
            self.check(self.lib.cuFuncSetAttribute(function, self.MAX_DYNAMIC_SHARED, ctypes.c_int(most)),
                       "shared memory")
            self.functions[key] = function
        return self.functions[key]

    def resident(self, function, entry):
        n = ctypes.c_int()
        self.check(self.lib.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            ctypes.byref(n), function, entry["num_warps"] * 32, ctypes.c_size_t(entry["shared"])), "occupancy")
        return n.value


INTEGERS = {"i1": ctypes.c_int8, "i8": ctypes.c_int8, "u8": ctypes.c_uint8, "i16": ctypes.c_int16,
            "u16": ctypes.c_uint16, "i32": ctypes.c_int32, "u32": ctypes.c_uint32,
            "i64": ctypes.c_int64, "u64": ctypes.c_uint64, "fp32": ctypes.c_float, "fp64": ctypes.c_double}


def bind_tilec(torch, driver, built, values, which="auto"):
    """A function that launches our kernel once, on torch's current stream: by the first entry that
    takes these arguments; which: 'own': by the source's, 'further': by another, 'alone': by that and in
    no clusters, 'clusters': by that in clusters. None: none does.
    Promises of the signature are checked here, once."""
    m = built.manifest
    if len(values) != len(m["params"]):
        raise ValueError(f"{m['name']} takes {len(m['params'])} arguments")
    holders = []
    for p, v in zip(m["params"], values):
        number = v.data_ptr() if hasattr(v, "data_ptr") else v
        if "divisible" in p and number % p["divisible"] or number != p.get("equals", number):
            raise ValueError(f"{m['name']}: {p['name']} = {number} breaks its promise")
        holders.append((ctypes.c_void_p if p["type"].startswith("*") else INTEGERS[p["type"]])(number))
    asked = entries.grid_of(m, values)
    alone = torch.cuda.get_device_properties(0).multi_processor_count
    for entry in (m.get("entries", []) if which != "own" else []) + ([m] if which in ("auto", "own") else []):
        function = driver.function(built, entry)
        shares = entries.shares_of(m, entry, values, asked, alone, driver.resident(function, entry),
                                   {"alone": "never", "clusters": "always"}.get(which, "auto"))
        hidden = shares and entries.hidden_of(torch, driver.lib, m, entry, values, asked, shares)
        if not hidden:
            continue
        grid = shares.programs
        least = entries.worth(str(entry.get("worth_places", entry.get("min_places", 1))), entries.names_of(m, values))
        if which != "auto" or shares.places or -(-math.prod(asked) // grid[0]) >= least or "persistent" not in entry:
            break
    else:
        return None
    pointers = [ctypes.addressof(h) for h in holders] + hidden[0]
    pointers = (ctypes.c_void_p * len(pointers))(*pointers)
    threads, shared = entry["num_warps"] * 32, entry["shared"]
    if grid[0] * grid[1] * grid[2] <= alone:
        shared = entry.get("shared_single_cta", shared)

    early = entry.get("dependent_launch", 0) and math.prod(grid) < alone and not any(
        h["kind"] == "workspace" for h in entry["hidden"])  # as runtime/cuda.c has it
    attributes = [EARLY] * bool(early)
    if shares.cluster > 1:
        attributes.append(LaunchAttribute(id=4, value=(shares.cluster, 1, 1)))
    listed = (LaunchAttribute * 2)(*attributes)
    config = LaunchConfig(grid, (threads, 1, 1), shared, None, ctypes.addressof(listed), len(attributes))

    def run(keep=(holders, hidden, values, listed)):  # the arguments live as long as the function
        config.stream = torch.cuda.current_stream().cuda_stream
        code = driver.lib.cuLaunchKernelEx(ctypes.byref(config), function, pointers, None)
        if code:
            driver.check(code, "launch " + entry["entry"])
    run.shares = shares
    return run


def load_jit(folder, job):
    """The jit function of a job; Triton reads sources again from files, and wants names in .py."""
    path = folder / (Path(job.source).stem + "_triton.py")
    shutil.copyfile(ROOT / job.source, path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, job.kernel or Path(job.source).stem)


class TritonKernels:
    """The same sources under Triton's jit."""

    def __init__(self, folder):
        self.folder = folder
        self.functions = {}
        import torch
        import triton
        if hasattr(triton, "set_allocator"):  # descriptors are made in memory that launches ask for
            triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))

    def function(self, job):
        if (job.source, job.kernel) not in self.functions:
            self.functions[job.source, job.kernel] = load_jit(self.folder, job)
        return self.functions[job.source, job.kernel]

    @staticmethod
    def constants(job):
        import triton.language as tl
        values = {n: getattr(tl, v[3:]) if isinstance(v, str) and v.startswith("tl.") else v
                  for n, v in job.defines}
        return dict(values, num_warps=job.warps, num_stages=job.stages)

    def warm(self, torch, work, threads):
        """Compiles pairs of a job and its arguments; returns {job: error} of those that fail."""
        def one(pair):
            job, values = pair
            abstract = [v.dtype if hasattr(v, "data_ptr") else v for v in values]
            self.function(job).warmup(*abstract, grid=(1,), **self.constants(job))

        def tried(pair):
            try:
                one(pair)
                return None
            except Exception as e:  # of whatever kind: the bench goes on without this config
                return (str(e).strip().splitlines() or [type(e).__name__])[-1][:200]
        work = dict(work)
        for job in work:
            self.function(job)
        with ThreadPoolExecutor(threads) as pool:
            said = dict(zip(work, pool.map(tried, work.items())))
        return {job: error for job, error in said.items() if error and tried((job, work[job]))}  # once more, alone

    def bind(self, job, values, grid):
        launcher, constants = self.function(job)[grid], self.constants(job)
        return lambda: launcher(*values, **constants)

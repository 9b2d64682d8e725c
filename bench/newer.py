# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""newer.py: kernels of a newer Triton than the GPU's machine has: what newer_triton.py left in a folder,
read, loaded and launched by the driver, on torch's tensors and its current stream.

index.json has for each Job what Triton said of its kernel, or why there is none. 'params' lists what the
kernel takes, in its order: pieces of 4 or 8 bytes of an argument of the source, tensor maps of 128,
memory that the launcher provides."""
import ctypes
import hashlib
import json
from pathlib import Path

import entries

HOLDERS = {"ptr": ctypes.c_uint64, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "fp32": ctypes.c_float}
SIZES = {"ptr": 8, "i32": 4, "i64": 8, "fp32": 4, "map": 128, "scratch": 8, "profile": 8}
ALIGNMENTS = dict(SIZES, map=64)
INDEX = "index.json"
PREFER_SHARED = 1


def option(parser):
    parser.add_argument("--newer", type=Path, metavar="FOLDER",
                        help="kernels of a newer Triton beside these, as newer_triton.py left them in FOLDER")


def key_of(job):
    """What a kernel is compiled for, in words; tilec's options are none of Triton's business."""
    defines = ",".join(f"{n}={v}" for n, v in job.defines)
    return f"{job.source} {defines} {job.warps}w {job.stages}s ({', '.join(job.signature)})"


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def offsets(params, base=0):
    """Where each parameter lies behind `base`, the first's place in the constant bank, which has its
    alignment to itself: [(offset, size)]."""
    out, at = [], base
    for p in params:
        at += -at % ALIGNMENTS[p["type"]]
        out.append((at - base, SIZES[p["type"]]))
        at += SIZES[p["type"]]
    return out


class Index:
    """A folder of kernels; `root`: where their sources lie, which must be the ones that were compiled."""

    def __init__(self, folder, root):
        self.folder, self.loaded = Path(folder), {}
        table = json.loads((self.folder / INDEX).read_text())
        self.version, self.ptxas = table["triton"], table["ptxas"]
        self.kernels, self.failed = table["kernels"], table["failed"]
        self.changed = [s for s, d in table["sources"].items() if not (root / s).exists() or digest(root / s) != d]

    @property
    def name(self):
        return ".".join(self.version.split(".")[:2])

    def missing(self, job):
        """Why there is no kernel, or nothing."""
        key = key_of(job)
        if job.source in self.changed:
            return f"{job.source} has changed since"
        return self.failed.get(key, "" if key in self.kernels else "not prepared")

    def report(self, jobs, every=False):
        """Lines: who is left out and why, those with the same reason together; every: who is there, too."""
        jobs, reasons, out = list(dict.fromkeys(jobs)), {}, []
        for job in jobs:
            why = self.missing(job)
            reasons.setdefault(why, []).append(job)
        out.append(f"Triton {self.version}, ptxas {self.ptxas}: {len(reasons.pop('', []))} of {len(jobs)} kernels"
                   f" in {self.folder}")
        for why, those in reasons.items():
            out += [f"left out: {key_of(job)}: {why}" for job in those[:None if every else 20]]
            if not every and len(those) > 20:
                out.append(f"left out: {len(those) - 20} more: {why}")
        if every:
            out.append(f"{'registers':>9} {'stack':>7} {'shared':>7} {'threads':>7}  kernel")
            for k, job in ((self.kernels[key_of(j)], j) for j in jobs if not self.missing(j)):
                out.append(f"{k['registers']:9d} {k['stack']:7d} {k['shared']:7d} {k['threads']:7d}  {key_of(job)}")
        return out

    def function(self, driver, kernel):
        cubin = kernel["cubin"]
        if cubin not in self.loaded:
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            code = (self.folder / cubin).read_bytes()
            driver.check(driver.lib.cuModuleLoadData(ctypes.byref(module), code), "load " + cubin)
            driver.check(driver.lib.cuModuleGetFunction(ctypes.byref(function), module, kernel["entry"].encode()),
                         "find " + kernel["entry"])
            driver.check(driver.lib.cuFuncSetAttribute(function, driver.MAX_DYNAMIC_SHARED,
                                                       ctypes.c_int(kernel["shared"])), "shared memory")
            if kernel["shared"] > 48 << 10:  # as Triton's own launcher prefers it
                driver.check(driver.lib.cuFuncSetCacheConfig(function, PREFER_SHARED), "cache")
            self.loaded[cubin] = function
        return self.loaded[cubin]

    def bind(self, torch, driver, job, values, grid):
        """A function that launches once. Scratch memory is the launch's own, and the same each time."""
        kernel = self.kernels[key_of(job)]
        function = self.function(driver, kernel)
        grid = tuple(grid) + (1,) * (3 - len(grid))
        programs, keep = grid[0] * grid[1] * grid[2], []
        at = [address_of(torch, driver.lib, kernel, p, values, programs, keep) for p in kernel["params"]]
        pointers = (ctypes.c_void_p * len(at))(*at)

        def run(keep=(keep, values)):  # the arguments live as long as the function
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            code = driver.lib.cuLaunchKernel(function, *grid, kernel["threads"], 1, 1, kernel["shared"], stream,
                                             pointers, None)
            if code:
                driver.check(code, "launch " + kernel["entry"])
        return run


def address_of(torch, lib, kernel, p, values, programs, keep):
    """Where the value of a parameter lies; `keep` takes what must live on."""
    kind = p["type"]
    if kind == "map":
        made = entries.tensor_map(lib, {n: v for n, v in zip(kernel["arguments"], values)}, p["map"], False)
        if not made:
            raise ValueError(f"no tensor map of {p['map']['base']}")
        keep.append(made)
        return made[0]
    if kind in ("scratch", "profile"):
        size, align = kernel[kind]
        room = torch.empty(size * programs + align, dtype=torch.uint8, device="cuda") if size else None
        keep.append(room)
        start = room.data_ptr() if size else 0
        number = start + -start % align
        kind = "ptr"
    else:
        number = p["worth"] if "worth" in p else values[p["argument"]]
        if kind == "ptr":
            number = number.data_ptr()
            if number % p["divisible"]:
                raise ValueError(f"a pointer is no multiple of {p['divisible']}")
    keep.append(HOLDERS[kind](number))
    return ctypes.addressof(keep[-1])

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""launch.py: what a launch from Python costs the host: tilec.jit with tensors of PyTorch, beside Triton where it is
installed, and tile_launch from C.

    python3 bench/launch.py [--launch=build/bench/launch.so] [--rounds=N] [--device=cuda] [--limit=RATIO]

A round starts each contender 200 times and waits in between, so that no queue fills; the figures are medians. The
kernel does hardly anything and has six arguments, three of them tensors. C's loop runs in the same process, where the
driver's own cuLaunchKernel takes what it takes: "above the driver" is the rest. "Python" is the same call of a C function
that takes anything and does nothing, and "tile_launch, from Python" one that looks at nothing either and calls tile_launch with the
same arguments: what no launch from Python can go without. That is more than the two by themselves, as Python's code and the
driver's drive each other out of the CPU's caches. tilec's launches go as CUDA graphs of one kernel but where it says otherwise, and
tile_launch's do not. --limit: exit code 5 where a launch takes more than so many times as
long as tile_launch with cuLaunchKernel. On the tests' fake driver, which takes no time, figures are the host time of ours: LD_LIBRARY_PATH=build/tests/fake,
--device=fake."""
import argparse
import os
import statistics
import sys
import time

import tilec
import tilec.language as tl

BATCH = 200
THIN = "tile_launch, from Python"
THIN_GRAPHS = "the same, as graphs"


def idle(x, y, z, n, stride, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if n < 0:
        tl.store(z + i * stride, tl.load(x + i * stride) + tl.load(y + i * stride) * scale)


def pretended():
    """Three tensors on the fake driver's GPU, whose type has DLPack's exchange functions as PyTorch's has."""
    import ctypes

    fake = ctypes.CDLL("libcuda.so.1")
    address = lambda name: ctypes.cast(getattr(fake, name), ctypes.c_void_p).value  # noqa: E731
    pretended.table = (ctypes.c_uint64 * 7)(1 | 3 << 32, 0, 0, 0, 0, address("fake_tensor_describe"), address("fake_tensor_stream"))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = make(ctypes.addressof(pretended.table), b"dlpack_exchange_api", None)
    kind = type("Tensor", (), {"__dlpack_c_exchange_api__": capsule})
    return kind(), kind(), kind()


def thinnest(o, graphs):
    """A function of Python's that takes anything and calls tile_launch, where so many launches may be graphs."""
    import ctypes

    class MethodDef(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]

    FASTCALL, KEYWORDS = 0x80, 2
    library = ctypes.CDLL(os.path.abspath(o.launch))
    library.tile_bench_open.restype = ctypes.c_void_p
    bench = library.tile_bench_open(b"cuda" if o.device == "fake" else o.device.encode(), graphs)
    if not bench:
        sys.exit(5)
    method = MethodDef(b"launch", ctypes.cast(library.tile_bench_call, ctypes.c_void_p), FASTCALL | KEYWORDS, None)
    capsule, function = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCFunction_NewEx
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    function.restype, function.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    thinnest.alive.append(method)
    return function(ctypes.addressof(method), capsule(bench, None, None), None)


thinnest.alive = []


def contenders(o):
    if o.device == "fake":
        x, y, z = pretended()
        wait = lambda: tilec.synchronize("cuda:0")  # noqa: E731
    else:
        import torch

        x, y, z = (torch.zeros(1024, device=o.device) for _ in range(3))
        wait = torch.cuda.synchronize
    ours = tilec.jit(idle)
    one, grid = (1,), lambda meta: (tilec.cdiv(100, meta["BLOCK"]),)
    launcher, thin, thin_graphs = ours[one], thinnest(o, 0), thinnest(o, 8)
    tilec._device._contexts["plain", os.getpid()] = tilec._tilec.Context("cuda:0")
    plain = tilec.jit(idle, device="plain")
    known = dict(BLOCK=1024)
    found = {
        "Python": lambda: dict.__contains__ and known.get(x, y),
        THIN: lambda: thin(x, y, z, 1, 1024, 0.5, BLOCK=1024),
        THIN_GRAPHS: lambda: thin_graphs(x, y, z, 1, 1024, 0.5, BLOCK=1024),
        "tilec, kernel[(1,)](…)": lambda: ours[one](x, y, z, 1, 1024, 0.5, BLOCK=1024),
        "tilec, without graphs": lambda: plain[one](x, y, z, 1, 1024, 0.5, BLOCK=1024),
        "tilec, the launcher kept": lambda: launcher(x, y, z, 1, 1024, 0.5, BLOCK=1024),
        "tilec, grid a function": lambda: ours[grid](x, y, z, 1, 1024, 0.5, BLOCK=1024),
    }
    if o.device != "fake":
        try:
            import triton
            import triton.language
        except ImportError:
            triton = None
        if triton:
            theirs = triton.jit(idle)
            idle.__globals__["tl"] = triton.language
            idle.__annotations__["BLOCK"] = triton.language.constexpr
            found["Triton, kernel[(1,)](…)"] = lambda: theirs[one](x, y, z, 1, 1024, 0.5, BLOCK=1024)
            found["Triton, grid a function"] = lambda: theirs[grid](x, y, z, 1, 1024, 0.5, BLOCK=1024)
    return found, wait


def measure(found, wait, rounds):
    ns = {name: [] for name in found}
    for call in found.values():
        call()
    for round_ in range(-5, rounds):
        for name, call in found.items():
            begin = time.perf_counter_ns()
            for _ in range(BATCH):
                call()
            took = (time.perf_counter_ns() - begin) / BATCH
            wait()
            if round_ >= 0:
                ns[name].append(took)
    return {name: statistics.median(v) for name, v in ns.items()}


def in_c(o):
    """Nanoseconds of cuLaunchKernel and of tile_launch, in this process."""
    import csv
    import ctypes
    import tempfile

    library = ctypes.CDLL(os.path.abspath(o.launch))
    with tempfile.TemporaryDirectory() as box:
        path = os.path.join(box, "launch.csv")
        words = [b"launch", f"--device={'cuda' if o.device == 'fake' else o.device}".encode(), b"--out=" + path.encode(),
                 f"--rounds={o.rounds}".encode()]  # fmt: skip
        sys.stdout.flush()
        code = library.tile_bench_launch(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None))
        if code:
            sys.exit(f"{o.launch} ends with {code}")
        with open(path) as f:
            median = {row[0]: row[1] for row in csv.reader(f)}
    return float(median["cuLaunchKernel"]), float(median["tile_launch, grid given"])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--launch", default="build/bench/launch.so")
    p.add_argument("--device", default="cuda")
    p.add_argument("--rounds", type=int, default=200)
    p.add_argument("--limit", type=float)
    o = p.parse_args()
    found, wait = contenders(o)
    ns = measure(found, wait, o.rounds)
    driver, c = in_c(o)
    rows = [("cuLaunchKernel, from C", driver), ("tile_launch, from C", c)] + list(ns.items())
    for name, value in rows:
        of = f"{value / ns[THIN]:6.2f} of that, {value / ns[THIN_GRAPHS]:6.2f}" if name.startswith(("tilec", "Triton")) else ""
        above = "" if name == "Python" else f"   above the driver {max(value - driver, 0):6.0f} ns {of}"
        print(f"{name:28} {value:8.0f} ns{above}")
    print(f"tile_launch from C and Python, each by itself: {c + ns['Python']:.0f} ns")
    if o.limit and ns["tilec, kernel[(1,)](…)"] > o.limit * ns[THIN]:
        sys.exit(5)


main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dlpack.py FOLDER [--tensors=N] [--seed=S]: capsules of hostile DLTensors through the Python package in FOLDER, against the
same rules in Python's integers: what fits is described byte by byte, all else is a ValueError. fuzz_dlpack.c is the same of C."""
import ctypes
import os
import random
import sys

DIMS = 64  # TILE_MAX_NDIM
TYPES = {(6, 8): 1, (0, 8): 2, (0, 16): 3, (0, 32): 4, (0, 64): 5, (1, 8): 6, (1, 16): 7, (1, 32): 8, (1, 64): 9,
         (10, 8): 10, (12, 8): 11, (2, 16): 12, (4, 16): 13, (2, 32): 14, (2, 64): 15}  # fmt: skip
HOST, CUDA = (1, 3), (2, 13)
WORDS = [0, 1, 2, 3, 8, 64, -1, -8, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int), ("index", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]  # fmt: skip


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


def reach(shape, strides, size):
    """The bytes before and behind the first element; None: some product on the way is no 64-bit integer."""
    if 0 in shape:
        return 0, 0
    before, behind, compact = 0, size, 1
    for n, stride in zip(reversed(shape), reversed(strides or [None] * len(shape))):
        stride = compact if stride is None else stride
        compact *= n
        way = stride * (n - 1) * size
        if n < 0 or any(not -(2**63) <= v < 2**63 for v in (compact, stride * (n - 1), way)):
            return None
        before, behind = (before - way, behind) if way < 0 else (before, behind + way)
        if before >= 2**63 or behind >= 2**63:
            return None
    return before, behind


def expected(m, t, shape, strides):
    """The five integers and the GPU's number, or None."""
    kind = TYPES.get((t.code, t.bits))
    if m.get("major", 1) != 1 or not kind or t.lanes != 1 or not 0 <= t.ndim <= DIMS or (t.ndim and shape is None):
        return None
    if t.device not in HOST + CUDA or (t.device in CUDA and t.index < 0):
        return None
    host, address = t.device in HOST, ((t.data or 0) + t.offset) % 2**64
    around = reach(shape or [], strides, t.bits // 8) if host or not address else (0, 1)
    if not around or address < around[0] or address + around[1] >= 2**64 or (not address and around[1]):
        return None
    flags = (2 if host else 0) | (1 if m.get("flags", 0) & 1 else 0)
    return (address, kind, address - around[0], address + around[1], flags), None if host else t.index


def one(r, dlpack, new, number):
    ndim = r.choice([0, 1, 2, 2, 3, 5, 64, 65, -1, 2**31 - 1])
    axes = max(0, min(ndim, 66))
    small = r.random() < 0.6
    shape = [r.choice(WORDS[:6] if small else WORDS) for _ in range(axes)] if r.random() < 0.95 else None
    strides = [r.choice(WORDS[:8] if small else WORDS) for _ in range(axes)] if r.random() < 0.6 else None
    code, bits = r.choice(list(TYPES)) if r.random() < 0.9 else (r.randrange(20), r.randrange(256))
    t = Tensor(r.choice([0, 4096, 4097, 2**47, 2**64 - 1, 2**64 - 256]), r.choice(HOST + CUDA + (0, 7, -1)), r.randrange(-2, 9),
               ndim, code, bits, r.choice([1] * 9 + [0, 2, 65535]))  # fmt: skip
    t.offset = r.choice([0, 0, 0, 1, 64, 2**63, 2**64 - 1])
    keep = [(ctypes.c_int64 * max(axes, 1))(*values) if values is not None else None for values in (shape, strides)]
    t.shape, t.strides = (ctypes.cast(k, ctypes.POINTER(ctypes.c_int64)) if k is not None else None for k in keep)
    said = {}
    if r.random() < 0.5:
        said = {"major": r.choice([1] * 9 + [0, 2]), "flags": r.choice([0, 1, 2, 2**64 - 1])}
        managed, name = Managed(said["major"], 1, None, None, said["flags"], t), b"dltensor_versioned"
    else:
        managed, name = Legacy(t, None, None), b"dltensor"
    capsule = new(ctypes.addressof(managed), name, None)
    want = expected(said, t, shape if t.ndim > 0 else [], strides if t.ndim > 0 else None)
    try:
        got = dlpack(capsule)
    except ValueError as e:
        got = None
        assert str(e), f"tensor {number}: refused without a word"
    assert got == want, f"tensor {number}: {got}, expected {want}: shape {shape}, strides {strides}"
    return got is not None


def main(folder, *arguments):
    given = dict(a.lstrip("-").split("=") for a in arguments)
    if not os.path.isdir(os.path.join(folder, "tilec")):
        print("dlpack: the package was not built: there was no Python.h")
        return 77
    sys.path.insert(0, os.path.abspath(folder))
    sys.dont_write_bytecode = True
    from tilec import _tilec

    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    seed, n, taken = int(given.get("seed", 1)), int(given.get("tensors", 50000)), 0
    for i in range(n):
        taken += one(random.Random(f"{seed}:{i}"), _tilec.dlpack, new, i)
    assert n // 10 < taken < n, f"{taken} of {n} tensors fit"
    print(f"{n} tensors, {taken} of them fit")
    return 0


sys.exit(main(*sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_arrays.py: arrays of other libraries: NumPy's where it is installed, DLPack's structs made by hand, and
what looks like PyTorch's tensors."""
import ctypes
import os
import subprocess
import sys
import types
import unittest
from array import array

import tilec
import tilec.language as tl
from tilec import _device, _tilec

try:
    import numpy as np
except ImportError:
    np = None


@tilec.jit
def double(x, n, stride, B: tl.constexpr = 64):
    i = tl.arange(0, B)
    tl.store(x + i * stride, tl.load(x + i * stride, mask=i < n) * 2, mask=i < n)


@tilec.jit
def optional(x, n):
    if x is not None:
        tl.store(x, n)


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]  # fmt: skip


class Owner:
    """Memory that says by DLPack alone where it is."""

    def __init__(self, data, shape, strides=None, code=2, bits=32, device=(1, 0), version=1, flags=0, lanes=1, offset=0):
        self.data, self.device = data, device
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = (ctypes.c_int64 * max(len(shape), 1))(*strides) if strides else None
        address = data.buffer_info()[0] if isinstance(data, array) else data
        tensor = Tensor(address, Device(*device), len(shape), code, bits, lanes, self.shape, self.strides, offset)
        self.managed = Managed(version, 0, None, None, flags, tensor)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None, max_version=None):
        self.stream = stream
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.managed), b"dltensor_versioned", None)


class Old(Owner):
    """From before version 1."""

    def __dlpack__(self):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.managed) + Managed.tensor.offset, b"dltensor", None)


class DLPack(unittest.TestCase):
    def test_in(self):
        for kind in (Owner, Old):
            x = array("f", range(8))
            double[1](kind(x, (8,)), 8, 1)
            self.assertEqual(list(x), [0, 2, 4, 6, 8, 10, 12, 14])
            double[1](kind(x, (2,), (4,), offset=12), 2, 4)
            self.assertEqual(list(x), [0, 2, 4, 12, 8, 10, 12, 28])
            double[1](kind(x, (8,), (-1,), offset=28), 8, -1)
            self.assertEqual(x[1], 4)
            with self.assertRaises(tilec.CheckError):
                double[1](kind(x, (2, 2), (3, 1)), 6, 1)
            double[1](kind(0, (0, 5)), 0, 1)
        double[1](Owner(array("B", range(4)), (4,), code=1, bits=8), 4, 1)
        with self.assertRaisesRegex(tilec.LaunchError, "read-only"):
            double[1](Owner(x, (8,), flags=1), 8, 1)

    def test_what_is_refused(self):
        x = array("f", range(8))
        big = 1 << 62
        for bad in (
            Owner(x, (8,), code=5), Owner(x, (8,), bits=16, code=1, lanes=2), Owner(x, (8,), version=2),
            Owner(x, (8,), device=(10, 0)), Owner(x, (8,), device=(2, -1)), Owner(x, (big, big)), Owner(x, (-1,)),
            Owner(x, (8,), (big,)), Owner(x, (1 << 50,), (-(1 << 10),)), Owner(8, (1 << 61,)), Owner(x, (1,) * 65),
        ):  # fmt: skip
            with self.assertRaisesRegex(ValueError, "DLPack"):
                double[1](bad, 8, 1)
        for bad in (3, None, x):
            with self.assertRaises(TypeError):
                _tilec.dlpack(bad)
        cuda = Owner(x, (8,), device=(2, 0))
        self.assertEqual(_tilec.dlpack(cuda.__dlpack__())[1], 0)
        with self.assertRaisesRegex(ValueError, "memory of a GPU"):
            double[1](cuda, 8, 1, device="cpu")
        self.assertEqual(cuda.stream, 1)
        with self.assertRaisesRegex(ValueError, "several devices"):
            double[1](cuda, 8, x)

    def test_streams(self):
        torch = types.ModuleType("torch")
        torch.cuda = types.SimpleNamespace(is_initialized=lambda: True)
        torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda i: 77 + i)
        cuda = Owner(array("f", range(8)), (8,), device=(2, 3))
        before = sys.modules.get("torch")
        sys.modules["torch"] = torch
        try:
            with self.assertRaises(ValueError):
                double[1](cuda, 8, 1, device="cpu")
            self.assertEqual(cuda.stream, 80)
        finally:
            del sys.modules["torch"]
            if before:
                sys.modules["torch"] = before


DESCRIBE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI."""


Exchange._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.POINTER(Exchange)),
                     ("allocate", ctypes.c_void_p), ("take", ctypes.c_void_p), ("give", ctypes.c_void_p),
                     ("describe", DESCRIBE), ("stream", STREAM)]  # fmt: skip


def exchange(major=1, older=None, describe=True, stream=True):
    """A type of tensors that C asks where they are, and which stream is the current one."""

    class Tensors(Owner):
        asked = streams = 0

    def fill(tensor, out):
        Tensors.asked += 1
        out[0] = tensor.managed.tensor
        return -1 if getattr(tensor, "broken", False) else 0

    def current(kind, index, out):
        Tensors.streams += 1
        out[0] = None
        return -1 if stream == "broken" else 0

    api = Exchange(major, 3, older, None, None, None, DESCRIBE(fill) if describe else DESCRIBE(),
                   STREAM(current) if stream else STREAM())  # fmt: skip
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    Tensors.__dlpack_c_exchange_api__ = make(ctypes.addressof(api), b"dlpack_exchange_api", None)
    Tensors.api, Tensors.older = api, older
    return Tensors


class ExchangeFunctions(unittest.TestCase):
    def test_in(self):
        kind = exchange()
        x = array("f", range(8))
        for _ in range(3):  # the first makes a plan
            double[1](kind(x, (8,)), 8, 1)
        self.assertEqual(x[3], 24)
        self.assertEqual(kind.asked, 3)
        double[1](kind(x, (2,), (4,), offset=12), 2, 4)
        self.assertEqual(list(x)[3::4], [48, 112])
        with self.assertRaises(tilec.CheckError):
            double[1](kind(x, (4,)), 8, 1)

    def test_which_types(self):
        x = array("f", range(8))
        old = exchange()
        for kind, asked in ((exchange(2), 0), (exchange(2, ctypes.pointer(old.api)), 0), (exchange(describe=False), 0)):
            double[1](kind(x, (8,)), 8, 1)  # by a capsule, or by the older functions
            self.assertEqual(kind.asked, asked)
        self.assertEqual(old.asked, 1)
        self.assertEqual(x[1], 8)
        kinds = [exchange() for _ in range(20)]
        for kind in kinds + kinds:
            double[1](kind(x, (8,)), 8, 0)
        self.assertEqual([kind.asked for kind in kinds], [2] * 20)

    def test_what_is_refused(self):
        kind = exchange()
        x = array("f", range(8))
        for bad, text in ((kind(x, (8,), code=5), "no such elements"), (kind(x, (-1,)), "out of memory"),
                          (kind(x, (8,), device=(10, 0)), "neither in the host's")):  # fmt: skip
            with self.assertRaisesRegex(ValueError, f"double: x: DLPack: .*{text}"):
                double[1](bad, 8, 1)
        double[1](kind(x, (8,)), 8, 1)
        broken = kind(x, (8,))
        broken.broken = True
        with self.assertRaisesRegex(ValueError, "double: x: DLPack: its owner does not say where"):
            double[1](broken, 8, 1)
        with self.assertRaisesRegex(ValueError, "memory of a GPU"):
            double[1](kind(x, (8,), device=(2, 0)), 8, 1, device="cpu")


class Fake:
    """What _args.py asks of a tensor of PyTorch, and no more."""

    def __init__(self, data, dtype="torch.float32", device="cpu", shape=(8,), strides=(1,)):
        self.data, self.shape, self.strides, self.dtype = data, shape, strides, dtype
        self.device = types.SimpleNamespace(type=device, index=0)

    data_ptr = lambda self: self.data.buffer_info()[0]  # noqa: E731
    element_size = lambda self: self.data.itemsize  # noqa: E731
    stride = lambda self: self.strides  # noqa: E731


class Torch(unittest.TestCase):
    def test_in(self):
        x = array("f", range(8))
        double[1](Fake(x), 8, 1)
        self.assertEqual(x[7], 14)
        with self.assertRaises(tilec.CheckError):
            double[1](Fake(x, shape=(4,)), 8, 1)
        for bad, error in ((Fake(x, device="meta"), TypeError), (Fake(x, "torch.complex64"), TypeError)):
            with self.assertRaises(error):
                double[1](bad, 8, 1)
        with self.assertRaisesRegex(ValueError, "memory of a GPU"):
            double[1](Fake(x, device="cuda"), 8, 1, device="cpu")


class GPU(unittest.TestCase):
    """The driver of tests/runtime/, which runs nothing and knows no stream that it has not made."""

    @unittest.skipUnless("TILE_FAKE_CUDA" in os.environ, "no driver to test with")
    def test_launch(self):
        if os.environ.get("LD_LIBRARY_PATH") != os.environ["TILE_FAKE_CUDA"]:
            env = {**os.environ, "LD_LIBRARY_PATH": os.environ["TILE_FAKE_CUDA"], "PYTHONPATH": os.pathsep.join(sys.path)}
            subprocess.run([sys.executable, __file__, "GPU"], env=env, check=True, stderr=subprocess.PIPE)
            return
        x = array("f", range(8))
        tensor = Fake(x, device="cuda")
        double[1](tensor, 8, 1)
        double[1](tensor, 8, 1, device="cuda:0", stream=0)
        double[1](Owner(x, (8,), device=(2, 0)), 8, 1)
        kind, broken = exchange(), exchange(stream="broken")
        for _ in range(3):
            double[1](kind(x, (8,), device=(2, 0)), 8, 1)
            double[1](exchange(stream=False)(x, (8,), device=(2, 0)), 8, 1)
        double[1](kind(x, (8,), device=(2, 0)), 8, 1, num_warps=1)  # no plan knows this one
        self.assertEqual(kind.streams, 4)
        for options in ({}, {"num_warps": 2}):
            with self.assertRaisesRegex(ValueError, "which stream is the current one"):
                double[1](broken(x, (8,), device=(2, 0)), 8, 1, **options)
        with self.assertRaisesRegex(tilec.LaunchError, "INVALID_HANDLE"):
            double[1](tensor, 8, 1, stream=77)
        with self.assertRaisesRegex(ValueError, "memory of the host"):
            double[1](x, 8, 1, device="cuda")
        with self.assertRaises(tilec.DeviceError):
            double[1](tensor, 8, 1, device="cuda:99")
        tilec.synchronize("cuda:0")
        self.assertEqual(list(x), list(range(8)))
        # Without tensors it is the first GPU; with them it is where they are, whatever came before.
        for first in (None, x), (x, None):
            fresh = tilec.jit(optional.fn)
            for value in first * 2:
                fresh[1](value, 3)
        self.assertEqual(x[0], 3)

    @unittest.skipUnless("TILE_FAKE_CUDA" in os.environ, "no driver to test with")
    def test_launch_graphs(self):
        told = os.environ.get("WANTED_GRAPHS")
        if told is None:
            env = {**os.environ, "LD_LIBRARY_PATH": os.environ["TILE_FAKE_CUDA"], "PYTHONPATH": os.pathsep.join(sys.path)}
            for wanted, tool in ("1", {}), ("0", {"CUDA_INJECTION64_PATH": "tool.so"}), ("0", {"NVTX_INJECTION64_PATH": "tool.so"}):
                subprocess.run([sys.executable, __file__, "GPU.test_launch_graphs"], env={**env, "WANTED_GRAPHS": wanted, **tool},
                               check=True, stderr=subprocess.PIPE)  # fmt: skip
            return
        x = array("f", range(8))
        tensor, fake = Fake(x, device="cuda"), ctypes.CDLL("libcuda.so.1")

        def goes():
            for _ in range(16):
                double[1](tensor, 8, 1, stream=0)
            return fake.fake_was_graph()

        self.assertEqual(goes(), int(told))
        self.assertEqual(len({_device.context(name) for name in ("cuda", "auto", "cuda:0")}), 1)
        self.assertIsNot(_device.context("cuda:1"), _device.context("cuda"))
        tilec.set_launch_graphs(0)
        self.assertEqual(goes(), 0)
        tilec.set_launch_graphs(1, device="cuda:0")
        self.assertEqual(goes(), 1)
        for wrong in -1, 1025:
            with self.assertRaisesRegex(tilec.Error, "it is 0 to 1024"):
                tilec.set_launch_graphs(wrong)


@unittest.skipUnless(np, "NumPy is not installed")
class NumPy(unittest.TestCase):
    def test_types(self):
        for name in ("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64").split():
            x = np.arange(5, dtype=name)
            double[1](x, np.int64(5), np.uint8(1))
            self.assertEqual(x.tolist(), [0, 2, 4, 6, 8])
        for bad in (np.zeros(4, "complex64"), np.zeros(4, ">f4"), np.zeros(4, "S3"), np.array([object()])):
            with self.assertRaises(TypeError):
                double[1](bad, 4, 1)

    def test_strides(self):
        x = np.arange(24, dtype="f4").reshape(4, 6)
        double[1](x[:, 2], 4, 6)
        self.assertEqual(x[:, 2].tolist(), [4, 16, 28, 40])
        double[1](x[3, ::-1], 6, -1)
        self.assertEqual(x[3].tolist(), [36, 38, 80, 42, 44, 46])
        with self.assertRaises(tilec.CheckError):
            double[1](x[0], 7, 1)
        double[1](np.zeros((0, 3), "f4"), 0, 1)
        one = np.float32(3) + np.zeros((), "f4")
        double[1](np.full((), 3, "f4"), 1, 1)
        self.assertEqual(one, 3)

    def test_read_only(self):
        with self.assertRaisesRegex(tilec.LaunchError, "read-only"):
            double[1](np.broadcast_to(np.float32(1), (8,)), 1, 1)

    def test_scalars(self):
        @tilec.jit
        def put(x, v, b):
            tl.store(x, v)
            tl.store(x + 1, b)

        x = np.zeros(2)
        put[np.int64(1)](x, np.float32(0.5), np.bool_(True))
        self.assertEqual(x.tolist(), [0.5, 1])
        put[1](x, np.float64(0.25), np.bool_(False))
        self.assertEqual(x.tolist(), [0.25, 0])


if __name__ == "__main__":
    unittest.main()

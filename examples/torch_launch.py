# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# torch_launch.py: a kernel that tilec compiled runs on PyTorch's tensors, in PyTorch's stream. PyTorch
# loads no PTX itself, so three functions of the driver are called through ctypes.
#
#   tilec vector_add.tl && python3 torch_launch.py vector_add.ptx
#
# Exits with 77 where there is no PyTorch or no GPU.
import ctypes
import sys

from tile_manifest import read_kernels

try:
    import torch
except ImportError as why:
    print(f"torch_launch: skipped: {why}")
    sys.exit(77)
if not torch.cuda.is_available():
    print("torch_launch: skipped: no GPU")
    sys.exit(77)


class Function:
    """A kernel of a .ptx, called with tensors and integers in the order of its parameters."""

    TYPES = {"i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
             "fp32": ctypes.c_float, "fp64": ctypes.c_double}
    MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

    def __init__(self, path):
        torch.cuda.init()
        torch.empty(1, device="cuda")  # makes the primary context current
        self.driver = ctypes.CDLL("libcuda.so.1")
        with open(path, "rb") as file:
            text = file.read()
        self.kernel = next(iter(read_kernels(text.decode()).values()))
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(self.module), text)
        self.call("cuModuleGetFunction", ctypes.byref(self.function), self.module,
                  self.kernel.entry.encode())
        if self.kernel.shared > 48 * 1024:
            self.call("cuFuncSetAttribute", self.function, self.MAX_DYNAMIC_SHARED, self.kernel.shared)

    def call(self, name, *args):
        code = getattr(self.driver, name)(*args)
        if code:
            raise RuntimeError(f"{name} returned {code}")

    def __call__(self, *args):
        values = [a.data_ptr() if isinstance(a, torch.Tensor) else a for a in args]
        named = dict(zip([p["name"] for p in self.kernel.params], values, strict=True))
        self.kernel.check(named)
        cells = [ctypes.c_void_p(v) if p["type"].startswith("*") else self.TYPES[p["type"]](v)
                 for p, v in zip(self.kernel.params, values)]
        pointers = (ctypes.c_void_p * len(cells))(*[ctypes.addressof(c) for c in cells])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.call("cuLaunchKernel", self.function, *self.kernel.grid(named), *self.kernel.block,
                  self.kernel.shared, stream, pointers, None)


def main(path):
    n = 100000
    x, y = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
    out = torch.zeros_like(x)
    Function(path)(x, y, out, n)
    wrong = int((out != x + y).sum())
    print(f"torch_launch: {wrong} of {n} sums wrong")
    return 5 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

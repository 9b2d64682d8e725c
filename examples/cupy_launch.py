# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cupy_launch.py: CuPy runs a kernel that tilec compiled: no tilec, no libtile here, the .ptx alone.
#
#   tilec vector_add.tl && python3 cupy_launch.py vector_add.ptx
#
# Exits with 77 where there is no CuPy or no GPU.
import sys

from tile_manifest import read_kernels

try:
    import cupy
    import numpy
    cupy.cuda.runtime.getDeviceCount()
except Exception as why:  # no package, no driver, no GPU: CuPy has many ways to say so
    print(f"cupy_launch: skipped: {why}")
    sys.exit(77)


def main(path):
    n = 100000
    x, y = cupy.random.rand(n, dtype=cupy.float32), cupy.random.rand(n, dtype=cupy.float32)
    out = cupy.zeros_like(x)
    with open(path) as file:
        kernel = next(iter(read_kernels(file.read()).values()))
    function = cupy.RawModule(path=path).get_function(kernel.entry)
    if kernel.shared > 48 * 1024:
        function.max_dynamic_shared_size_bytes = kernel.shared
    buffers = [x, y, out]
    args = dict(zip([p["name"] for p in kernel.params], [b.data.ptr for b in buffers] + [n]))
    kernel.check(args)
    function(kernel.grid(args), kernel.block, (x, y, out, numpy.int32(n)), shared_mem=kernel.shared)
    wrong = int((out != x + y).sum())
    print(f"cupy_launch: {wrong} of {n} sums wrong")
    return 5 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

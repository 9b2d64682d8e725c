# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tilec: kernels in Triton's language, compiled and run without LLVM, CUDA's toolkit or a C compiler.

    import tilec, tilec.language as tl

    @tilec.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

    add[(tilec.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
"""
import re

from . import _tilec, language
from ._compile import Compiled, compile
from ._descriptor import TensorDescriptor
from ._install import Installed, install
from ._device import set_checks, set_launch_graphs, synchronize
from ._jit import JITFunction, aggregate, constexpr_function, jit
from ._tilec import CheckError, CompilationError, DeviceError, Error, LaunchError
from ._tune import Autotuner, Config, Heuristics, autotune, heuristics

language.core._aggregate = aggregate  # as Triton called it first

__version__ = _tilec.version()
__all__ = [
    "Autotuner", "CheckError", "Compiled", "CompilationError", "Config", "DeviceError", "Error", "Heuristics", "Installed",
    "JITFunction", "LaunchError", "TensorDescriptor", "aggregate", "autotune", "cdiv", "compile", "constexpr_function",
    "heuristics", "install", "jit", "language", "next_power_of_2", "set_checks", "set_launch_graphs",
    "synchronize",
]  # fmt: skip


def _code(error):
    """Of the first message in it: "E0201", "R0008"; `tilec --explain=E0201` says what is behind it."""
    found = re.search(r" \[([A-Z]\d{4})\]$", str(error), re.MULTILINE)
    return found[1] if found else ""


Error.code = property(_code)


@constexpr_function
def cdiv(x, y):
    """x / y, rounded up."""
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n):
    """The smallest power of two that is not below n; 0 of what is not positive."""
    if n <= 0:
        return 0
    power = 1
    while power < n:
        power *= 2
    return power

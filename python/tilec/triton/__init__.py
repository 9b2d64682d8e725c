# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tilec.triton: Triton's names for what tilec has, so that a source needs two lines other than its own:

    import tilec.triton as triton
    import tilec.triton.language as tl
"""
import sys

from .. import (
    Autotuner, CompilationError, Config, Heuristics, JITFunction, aggregate, autotune, cdiv, constexpr_function, heuristics, jit, language,
    next_power_of_2,
)  # fmt: skip
from .. import Error as TritonError
from .. import LaunchError as OutOfResources

for _name, _module in list(sys.modules.items()):
    if _name == "tilec.language" or _name.startswith("tilec.language."):
        sys.modules[__name__ + _name[len("tilec"):]] = _module

from . import runtime, testing, tools  # noqa: E402: they may import tilec.triton.language

__version__ = "3.6.0"  # whose rules the compiler follows
__all__ = [
    "Autotuner", "CompilationError", "Config", "Heuristics", "JITFunction", "OutOfResources", "TritonError",
    "aggregate", "autotune", "cdiv", "constexpr_function", "heuristics", "jit", "language", "next_power_of_2", "runtime", "set_allocator", "testing",
    "tools",
]  # fmt: skip


def set_allocator(allocator):
    """Triton asks this function for the memory of descriptors that kernels make. Kernels of tilec need none."""


def __getattr__(name):
    hints = {
        "compile": "tilec.compile compiles without a launch",
        "reinterpret": "give the kernel a view of the tensor with that type",
        "ops": "Triton has dropped it",
    }
    if name.startswith("_"):
        raise AttributeError(name)
    raise AttributeError(f"tilec.triton has no '{name}'" + (f": {hints[name]}" if name in hints else ""))

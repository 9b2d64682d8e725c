# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tilec: kernels in Triton's language, compiled and run without LLVM, CUDA's toolkit or a C compiler."""
from . import _tilec, language
from ._tilec import CheckError, CompilationError, DeviceError, Error, LaunchError

__version__ = _tilec.version()
__all__ = ["CheckError", "CompilationError", "DeviceError", "Error", "LaunchError", "language"]

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's `tools` package, as far as programs use it."""
from . import tensor_descriptor

__all__ = ["tensor_descriptor"]

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where Triton has TensorDescriptor."""
from ..._descriptor import TensorDescriptor

__all__ = ["TensorDescriptor"]

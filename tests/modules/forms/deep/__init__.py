# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a star takes is what __all__ lists, underscore or not.
from .quad import quadruple, unlisted
from ..scale import FACTOR

__all__ = ["quadruple", "_listed"]
_listed = FACTOR

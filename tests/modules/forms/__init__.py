# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A package that hands on what its modules have: a function by another name, a module, a star.
from . import scale as shrink
from .deep import *
from .scale import double as twice

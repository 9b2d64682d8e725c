# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What is refused, each with where it is imported and how to settle it. That `broken` does not parse
# is said once, and not at all where only `fine` is used.
# RUN: tilec %s -o %t/out.ptx
import refused.below
import triton
import triton.language as tl

from . import broken as module
from .... import above
from .broken import *
from .broken import PLAIN, UNKNOWN, broken, mistaken, python_alone
from .broken import fyne
from .inner import handed_on
from .missing import gone
from .round_a import nowhere


@triton.jit
def kernel(p: "*fp32"):
    x = tl.load(p)
    tl.store(p, fine(x))
    tl.store(p, above(x))
    tl.store(p, gone(x))
    tl.store(p, fyne(x))
    tl.store(p, module.nothing(x))
    tl.store(p, module(x))
    tl.store(p, broken(x))
    tl.store(p, handed_on(x))
    tl.store(p, mistaken(x))
    tl.store(p, python_alone(x))
    tl.store(p, PLAIN)
    tl.store(p, UNKNOWN)
    tl.store(p, _HIDDEN)
    tl.store(p, nowhere)
    tl.store(p, refused.below.mistaken(x))


# EXIT: 1
# EXPECT:
# %s:23:17: error: 'above' comes from '....', which is above the root of its package [E0205]
#         tl.store(p, above(x))
#                     ^~~~~
# %s:10:18: note: imported here: put the definition of 'above' into this file; a constant may be given by -D above=VALUE
#     from .... import above
#                      ^~~~~
# %s: note: the root is the first folder above this file without an __init__.py
# %s:24:17: error: 'gone' comes from module '.missing', which is not found [E0204]
#         tl.store(p, gone(x))
#                     ^~~~
# %s:15:22: note: imported here: put the definition of 'gone' into this file; a constant may be given by -D gone=VALUE
#     from .missing import gone
#                          ^~~~
# %d/broken.py:20:15: error: unexpected end of line, expected an expression [E0115]
#         return x +
#                   ^
# %s:11:21: note: 'refused.broken' is imported here
#     from .broken import *
#                         ^
# %s:26:24: error: module 'refused.broken' has no 'nothing' [E0206]
#         tl.store(p, module.nothing(x))
#                            ^~~~~~~
# %s: note: it is '%d/broken.py'
# %s:27:17: error: 'refused.broken' is a module and cannot be called [E0311]
#         tl.store(p, module(x))
#                     ^~~~~~
# %d/broken.py:25:15: error: tl has no 'squirt' [E0206]
#         return tl.squirt(x) + lost(x)
#                   ^~~~~~
# %s: note: did you mean 'sqrt'?
# %s:30:17: note: called from here
#         tl.store(p, mistaken(x))
#                     ^~~~~~~~~~~
# %d/broken.py:25:27: error: 'lost' comes from module '.gone', which is not found [E0204]
#         return tl.squirt(x) + lost(x)
#                               ^~~~
# %d/broken.py:6:19: note: imported here: put the definition of 'lost' into this file; a constant may be given by -D lost=VALUE
#     from .gone import lost
#                       ^~~~
# %s:30:17: note: called from here
#         tl.store(p, mistaken(x))
#                     ^~~~~~~~~~~
# %s:31:17: error: 'python_alone' is not a jit function and cannot be called in a kernel [E0210]
#         tl.store(p, python_alone(x))
#                     ^~~~~~~~~~~~
# %d/broken.py:28:5: note: it is defined here: put @triton.jit above it
#     def python_alone(x):
#         ^~~~~~~~~~~~
# %s:32:17: error: Cannot access global variable 'PLAIN' in a kernel [E0208]
#         tl.store(p, PLAIN)
#                     ^~~~~
# %d/broken.py:9:1: note: to make it a constant, write PLAIN = tl.constexpr(4)
#     PLAIN = 4
#     ^~~~~
# %s:33:17: error: the value of global 'UNKNOWN' is not known while compiling [E0207]
#         tl.store(p, UNKNOWN)
#                     ^~~~~~~
# %d/broken.py:10:1: note: it is assigned here; -D UNKNOWN=VALUE gives it one
#     UNKNOWN = tl.constexpr(undefined_function())
#     ^~~~~~~
# %d/broken.py:10:24: note: name 'undefined_function' is not defined
#     UNKNOWN = tl.constexpr(undefined_function())
#                            ^~~~~~~~~~~~~~~~~~
# %s:34:17: error: name '_HIDDEN' is not defined [E0201]
#         tl.store(p, _HIDDEN)
#                     ^~~~~~~
# %s:35:17: error: module 'refused.round_a' has no 'nowhere' [E0206]
#         tl.store(p, nowhere)
#                     ^~~~~~~
# %s: note: it is '%d/round_a.py'
# %d/below.py:8:14: error: fp32 has no attribute 'nothing' [E0203]
#         return x.nothing()
#                  ^~~~~~~
# %s:36:17: note: called from here
#         tl.store(p, refused.below.mistaken(x))
#                     ^~~~~~~~~~~~~~~~~~~~~~~~~
# %s:36:25: note: 'refused.below' is imported here
#         tl.store(p, refused.below.mistaken(x))
#                             ^~~~~

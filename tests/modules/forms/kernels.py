# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every form of import, each with a value of its own; the CPU device checks them.
# RUN: tilerun %s --device=cpu --grid=1 -I %d/../elsewhere out=zeros:i32[1]
import extra
import forms.deep.quad
import forms.scale as sc
import lib.inner as inner
import triton
from extra import *
from lib import also_seven, inner as by_name
from vllm.triton_utils import tl

from . import deep, ring_a, scale, shapes, shrink, twice
from .deep import *
from .deep.quad import (
    quadruple as four,
    unlisted,
)
from .ring_a import first, last
from .scale import FACTOR, WIDE, chosen, double as d, in_language
from .shapes import Scaled as Base, Size, area
from .space import plain
from .space.plain import OFFSET, shift

try:
    from .scale import faster
except ImportError:
    from .scale import double as faster

try:
    import a_module_that_is_nowhere

    HAS = tl.constexpr(1)
except ImportError:
    HAS = tl.constexpr(0)

again = scale.chosen


TIMES = tl.constexpr(50)


@triton.aggregate
class Both(Base):
    other: shapes.Scaled
    plus: tl.constexpr = TIMES

    @triton.jit
    def sum(self):
        return self.get() + self.other.get() + self.plus


@triton.autotune(configs=scale.widths(), key=[])
@triton.jit
def kernel(out, BLOCK: tl.constexpr):
    one = tl.load(out) + 1  # 1 that is not known while compiling
    tl.device_assert(d(one) == 2)  # from .scale import double as d
    tl.device_assert(sc.double(one, 3) == 3)  # import forms.scale as sc
    tl.device_assert(forms.deep.quad.quadruple(one) == 4)  # import forms.deep.quad
    tl.device_assert(scale.double(one) + 3 == 5)  # from . import scale
    tl.device_assert(twice(one) + 4 == 6)  # handed on by the package, by another name
    tl.device_assert(shrink.double(one) + 5 == 7)  # a module handed on
    tl.device_assert(quadruple(one) + 6 == 10)  # from .deep import *, listed in __all__
    tl.device_assert(four(one) + _listed + 7 == 13)  # listed, with an underscore
    tl.device_assert(half(one + 19) == 10)  # from extra import *, by -I
    tl.device_assert(extra.half(one + 21) + EXTRA == 18)  # import extra
    tl.device_assert(inner.seven(one) == 8)  # import lib.inner as inner
    tl.device_assert(also_seven(one) + by_name.seven(one) == 16)  # a package by -I
    tl.device_assert(shift(one) + OFFSET == 101)  # of a folder without an __init__.py
    tl.device_assert(plain.shift(one) == 51)
    tl.device_assert(first(one) == 112)  # modules that import each other
    tl.device_assert(ring_a.ring_b.middle(last(one)) == 111)
    tl.device_assert(chosen(one) == 31)  # defined under a condition of its module
    tl.device_assert(again(one) + FACTOR == 33)
    tl.device_assert(faster(one) + HAS == 2)  # of two imports, the one that is there
    tl.device_assert(in_language(one).to(WIDE) + 70 == 71)
    tl.device_assert(unlisted(BLOCK) == 16)  # a list of configs of another module
    tl.device_assert(forms.twice(one) + deep.quadruple(one) == 6)
    tl.device_assert(Base(one).get() == 6)  # classes of another module
    tl.device_assert(Both(one, other=Base(one, 4)).sum() == 64)
    tl.static_assert(area(Size(2)) == 6 and Size(2) == shapes.Size(2, n=3))

    tl.store(out, one)

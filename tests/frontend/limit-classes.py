# Classes that use themselves, and operators and constructors without an end.
# RUN: tilec --emit=tir %s -o -
import triton
import triton.language as tl


@triton.aggregate
class Itself:
    a: tl.constexpr = Itself(1)  # error: name 'Itself' is not defined


@triton.aggregate
class Derived(Derived):  # error: Aggregates can only inherit from other aggregates, but got non-aggregate base: Derived
    a: tl.constexpr


@triton.aggregate
class Endless:
    a: tl.tensor

    @triton.jit
    def __add__(self, other):
        return other + self  # error: inlined 256 calls deep: is the recursion bounded?

    __radd__ = __add__


@triton.jit
def kernel(p: "*i32"):
    s = Itself()
    d = Derived(1)
    e = Endless(tl.load(p)) + 1

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_aggregates.py: classes of fields that kernels make, of this file and another, on the CPU device."""
import unittest
from array import array

import tilec
import tilec.triton as triton
import tilec.triton.language as tl

import helpers

STEP = 5


@tilec.jit
def add_step(x):
    return x + STEP


@triton.aggregate
class Pair:
    """Two numbers, and what both are multiplied by."""

    a: tl.tensor
    b: "tl.tensor"
    by: tl.constexpr = 2 + 1

    @triton.jit
    def total(self, more=4):
        return add_step((self.a + self.b) * self.by) + more

    @triton.jit
    def __add__(self, other):
        return Pair(self.a + other.a, self.b + other.b)


@tl.core._aggregate
class Wide(helpers.Scaled):
    pair: Pair
    size: tl.core.constexpr

    @triton.constexpr_function
    def __init__(self, value, pair, size=16):
        self.value = value
        self.by = tl.constexpr(2)
        self.pair = pair
        self.size = tl.constexpr(size)

    @tilec.jit
    def all(self):
        return self.get() + self.pair.total() + self.size


class Aggregates(unittest.TestCase):
    def test_fields_and_methods(self):
        @tilec.jit
        def f(out):
            x = tl.load(out)
            p = Pair(x, x + 1) + Pair(x, x, 7)
            tl.store(out, p.total())
            tl.store(out + 1, Pair(x, 0, by=1).total(more=0))

        out = array("i", [3, 0])
        f[1](out)
        self.assertEqual(list(out), [(6 + 7) * 3 + 5 + 4, 3 + 5])

    def test_of_another_file(self):
        @tilec.jit
        def f(out):
            x = tl.load(out)
            tl.store(out, Wide(x, Pair(x, x)).all())
            tl.store(out + 1, helpers.Scaled(x).get())

        out = array("i", [3, 0])
        f[1](out)
        self.assertEqual(list(out), [3 * 2 + 100 + (6 * 3 + 5 + 4) + 16, 3 * 7 + 100])

    def test_of_a_function(self):
        def make(n):
            @triton.aggregate
            class Pair:  # another one of the name
                a: tl.tensor

                @triton.jit
                def get(self):
                    return self.a + n

            return Pair

        one, ten = make(1), make(10)

        @tilec.jit
        def f(out):
            x = tl.load(out)
            tl.store(out, one(x).get())
            tl.store(out + 1, ten(x).get())
            tl.store(out + 2, Pair(x, x).total())

        out = array("i", [3, 0, 0])
        f[1](out)
        self.assertEqual(list(out), [4, 13, 27])

    def test_a_global_that_changes(self):
        global STEP

        @tilec.jit
        def f(out):
            tl.store(out, Pair(tl.load(out), 0).total(0))

        out = array("i", [1])
        f[1](out)
        self.assertEqual(list(out), [8])
        STEP = 6
        try:
            f[1](out)
        finally:
            STEP = 5
        self.assertEqual(list(out), [30])

    def test_mistakes(self):
        @tilec.jit
        def f(out):
            helpers.Nowhere(tl.load(out)).get()

        out = array("i", [1])
        with self.assertRaisesRegex(tilec.CompilationError, "helpers.py:[0-9]+:29: error: .*nowhere"):
            f[1](out)

        @triton.aggregate
        class Wrong:
            a: int

        @tilec.jit
        def g(out):
            Wrong(tl.load(out))

        with self.assertRaisesRegex(tilec.CompilationError, r"test_aggregates.py:[0-9]+:16: error: a field is a tl.tensor"):
            g[1](out)

        @triton.aggregate
        class Plain:
            a: tl.tensor

            @property
            def b(self):
                return self.a

        @tilec.jit
        def h(out):
            Plain(tl.load(out))

        with self.assertRaisesRegex(tilec.CompilationError, "b: an aggregate has functions made by jit or"):
            h[1](out)
        with self.assertRaisesRegex(TypeError, "aggregate: a class is wanted, not a int"):
            tilec.aggregate(3)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_jit.py: functions, what they use, arguments and grids of launches on the CPU device."""
import collections
import enum
import gc
import io
import itertools
import math
import os
import signal
import sys
import threading
import unittest
import unittest.mock
import warnings
import weakref
from array import array
from contextlib import redirect_stdout

import helpers
import tilec
import tilec.language as tl

FACTOR = 3  # and 7 in helpers
NAME = "double"
NUMBERS = (2, 4)
HALF = 0.5
TYPE = tl.float32
BOX = [1]
load = tl.load


def floats(n):
    return array("f", range(n))


@tilec.jit
def add(x, y, out, n, BLOCK: tl.constexpr = 16):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@tilec.jit
def twice(v):
    return v * 2


@tilec.jit
def uses(out, f: tl.constexpr = None):
    tl.store(out, helpers.scale(1.0))
    tl.store(out + 1, twice(1.0) * FACTOR)
    if NAME == "double":
        tl.store(out + 2, NUMBERS[1] * HALF)
    tl.store(out + 3, load(out + 1).to(TYPE) + math.pi)
    tl.store(out + 4, helpers.FACTOR)
    if f is not None:
        tl.store(out + 5, f(4.0))


class Functions(unittest.TestCase):
    def test_names_of_two_modules(self):
        out = floats(6)
        uses[1](out, twice)
        self.assertEqual(list(out[:3]) + list(out[4:]), [107, 6, 2, 7, 8])
        self.assertAlmostEqual(out[3], 6 + math.pi, places=5)
        uses[1](out, f=tl.math.exp2)
        self.assertEqual(out[5], 16)

    def test_names_that_variables_hide(self):
        @tilec.jit
        def f(out, scale, helpers_FACTOR):
            scale_2 = helpers.scale(scale)
            tl.store(out, scale_2 + helpers.FACTOR + helpers_FACTOR)

        out = floats(1)
        f[1](out, 2, 1000)
        self.assertEqual(out[0], 2 * 7 + 100 + 7 + 1000)

        @tilec.jit
        def g(out):
            tl.static_assert(helpers.FACTOR == 7, f"it is {helpers.FACTOR}")
            tl.store(out, [helpers.FACTOR for i in range(1)][0])

        try:
            g[1](out)
            self.assertEqual(out[0], 7)
        except tilec.CompilationError as e:  # before Python 3.12
            self.assertIn("'helpers' cannot be used here", str(e))

    def test_globals_change(self):
        global FACTOR
        out = floats(6)
        before = FACTOR
        try:
            FACTOR = 11
            uses[1](out)
            helpers.FACTOR, kept = 2, helpers.FACTOR
            self.assertEqual(out[1], 22)
            uses[1](out)
            self.assertEqual([out[0], out[4]], [102, 2])
            helpers.FACTOR = kept
        finally:
            FACTOR = before
        uses[1](out)
        self.assertEqual([out[0], out[1], out[4]], [107, 6, 7])

    def test_closures(self):
        def make(k, inner):
            @tilec.jit
            def f(out):
                tl.store(out, inner(k))

            return f

        out = floats(1)
        for k in (1.0, 2, True):
            make(k, twice)[1](out)
            self.assertEqual(out[0], 2 * k)
        make(5, make(3, twice)).fn  # one that returns nothing is refused when compiled
        with self.assertRaises(tilec.CompilationError):
            make(5, 6)[1](out)

    def test_defaults_are_those_of_python(self):
        size = 4

        @tilec.jit
        def helper(v, by=size):
            return v * by

        @tilec.jit
        def f(out, n: int = size, *, B: tl.constexpr = size) -> None:
            tl.store(out, helper(n) + B)

        size = 100
        out = floats(1)
        f[1](out)
        self.assertEqual(out[0], 20)

    def test_what_cannot_be_used(self):
        @tilec.jit
        def f(out):
            tl.store(out, BOX.count)

        @tilec.jit
        def g(out):
            tl.store(out, helpers.TABLE)

        @tilec.jit
        def h(out):
            tl.store(out, helpers.nothing)

        for kernel, words in ((f, "'BOX_count'|'count'|CompilationError|count"), (g, "dict"), (h, "no 'nothing'")):
            with self.assertRaisesRegex(tilec.CompilationError, words):
                kernel[1](floats(1))
        with self.assertRaisesRegex(RuntimeError, "launch it"):
            add(1)
        with self.assertRaisesRegex(RuntimeError, "in kernels only"):
            tl.load(1)
        with self.assertRaises(TypeError):
            tilec.jit(3)
        with self.assertRaises(tilec.CompilationError):
            scope = {"tilec": tilec}
            exec("def f(x): pass\nf = tilec.jit(f)", scope)

    def test_places_of_mistakes(self):
        @tilec.jit
        def f(out):
            tl.store(out, nowhere)  # noqa: F821

        line = f.source[2] + 2
        with self.assertRaises(tilec.CompilationError) as e:
            f[1](floats(1))
        first, source, caret = str(e.exception).split("\n")[:3]
        self.assertEqual(first, f"{__file__}:{line}:27: error: name 'nowhere' is not defined [E0201]")
        self.assertEqual(source[caret.index("^"):][:7], "nowhere")

        @tilec.jit
        def g(out):
            tl.store(out, helpers.wrong(1))

        with self.assertRaises(tilec.CompilationError) as e:
            g[1](floats(1))
        self.assertIn(f"helpers.py:{helpers.wrong.source[2] + 2}:16: error", str(e.exception))

        @tilec.jit
        def beyond(out):
            tl.store(out + tl.arange(0, 16), 1)

        with self.assertRaisesRegex(tilec.CheckError, f"{beyond.source[2] + 2}:13: error|out of bounds"):
            beyond[1](floats(3))


    def test_words_for_wrong_python(self):
        out = floats(16)
        for error, words, launch in (
            (TypeError, "axis 0 of the grid is 1.5: a grid is one to three integers", lambda: add[1.5](out, out, out, 1)),
            (TypeError, "axis 1 of the grid is 'x'", lambda: add[1, "x"](out, out, out, 1)),
            (ValueError, "axis 0 of the grid is not between 0 and", lambda: add[1 << 70](out, out, out, 1)),
            (OverflowError, "argument 3: 1180591620717411303424 does not fit 64 bits", lambda: add[1](out, out, out, 1 << 70)),
            (TypeError, "device: a name such as 'cpu' or 'cuda:0' is wanted, not 3", lambda: add[1](out, out, out, 1, device=3)),
            (TypeError, "add: a stream is its address, .* not a str", lambda: add[1](out, out, out, 1, stream="x")),
            (TypeError, "Config: a dict of constexprs is wanted first, not a int", lambda: tilec.Config(3)),
            (TypeError, "heuristics of add: a dict of functions is wanted, not a int", lambda: tilec.heuristics(3)(add)),
            (TypeError, "autotune of add: configs is a list, not a int", lambda: tilec.autotune(3, key=[])(add)),
            (TypeError, "autotune of add: key is a list, not a str", lambda: tilec.autotune([], key="n")(add)),
        ):
            with self.assertRaisesRegex(error, words):
                launch()

    def test_interfaces_that_are_none(self):
        class Said:
            def __init__(self, **more):
                self.__array_interface__ = {"data": (4096, False), "shape": (3,), "typestr": "<f4", "version": 3, **more}

        out = floats(16)
        for more, words in (
            ({"data": ("x", False)}, "is no memory"),
            ({"data": 4096}, "is no memory"),
            ({"data": (-4, False)}, "is no memory"),
            ({"shape": (-3,)}, "is no memory"),
            ({"shape": 3}, "is no memory"),
            ({"strides": (4, 4)}, "is no memory"),
            ({"typestr": None}, "is no memory"),
            ({"shape": (1 << 62,)}, "outside any memory"),
            ({"strides": (-1 << 20,)}, "outside any memory"),
            ({"data": (1 << 70, False)}, "outside any memory"),
            ({"typestr": ">f4"}, "in the other order"),
            ({"typestr": "<f3"}, "no elements of type"),
        ):
            with self.assertRaisesRegex(TypeError, f"add: x: .*{words}", msg=more):
                add[1](Said(**more), out, out, 1)

    def test_warnings(self):
        @tilec.jit
        def k(out, n):
            for i in range(n, flatten=True):
                tl.store(out + i, i)

        at = f"test_jit.py:{k.fn.__code__.co_firstlineno + 2}:22: 'flatten' has no effect"
        out = array("i", [0] * 48)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            k[1](out, 3)
            k[1](out, 3)
            self.assertEqual(len(heard), 1)  # of a variant, once
            self.assertIn(at, str(heard[0].message))
            self.assertIn("[W0006]", str(heard[0].message))
            self.assertEqual(heard[0].filename, __file__)
            k[1](out, 16)  # another variant
            self.assertEqual(len(heard), 2)
            with self.assertRaises(tilec.Error):
                k[1](None, 8)  # one that is made, or not, by a launch that fails
            for n in 3, 16, 5:
                k[1](out, n)
            self.assertEqual(len(heard), 2)
        self.assertEqual(list(out[:17]), [*range(16), 0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(UserWarning, "flatten"):
                k[1](out, 1)
        made = weakref.ref(k)
        del k
        gc.collect()
        self.assertIsNone(made())

    def test_codes(self):
        @tilec.jit
        def missing(out):
            tl.store(out, nowhere)  # noqa: F821

        @tilec.jit
        def beyond(out):
            tl.store(out + tl.arange(0, 16), 1)

        @tilec.jit
        def foreign(out):
            tl.store(out, io.StringIO)

        @tilec.jit
        def fine(out):
            tl.store(out, 1)

        for error, code, launch in (
            (tilec.CompilationError, "E0201", lambda: missing[1](floats(1))),
            (tilec.CheckError, "C0001", lambda: beyond[1](floats(3))),
            (tilec.CompilationError, "E0210", lambda: foreign[1](floats(1))),
            (tilec.LaunchError, "R0008", lambda: fine[1, 70000](floats(1))),
        ):
            with self.assertRaises(error) as e:
                launch()
            self.assertEqual(e.exception.code, code, str(e.exception))
            self.assertEqual(str(e.exception).count(f"[{code}]"), 1)
        self.assertEqual(tilec.Error("something else").code, "")


class Arguments(unittest.TestCase):
    def test_by_position_and_name(self):
        out = floats(100)
        x = floats(100)
        add[(7,)](x, x, out, 100)
        self.assertEqual(list(out), [2 * v for v in x])
        add[4](x, out=out, y=out, n=100, BLOCK=32, num_warps=2)
        self.assertEqual(out[99], 297)
        for args, kwargs, words in (
            ((x, x, out), {}, "'n' is missing"),
            ((x, x, out, 1, 2, 3), {}, "by position"),
            ((x, x, out, 1), {"x": x}, "given twice"),
            ((x, x, object(), 1), {}, "out: an object of type object"),
            ((x, x, "text", 1), {}, "type str"),
            ((x, x, out, 1), {"BLOCK": object()}, "BLOCK is a tl.constexpr"),
            ((x, x, out, 1), {"num_warps": 1.5}, "whole number"),
            ((x, x, out, 1), {"a,b": 1}, "no option 'a,b'"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                add[1](*args, **kwargs)
        for options in ({"num_warps": 3}, {"num_warps": "many"}, {"nothing": 1}):
            with self.assertRaisesRegex(tilec.Error, f"{list(options)[0]}.*[^\n]$"):
                add[1](x, x, out, 1, **options)
        for options in ({"maxnreg": 64, "enable_fp_fusion": False}, {"stream_k": "auto", "num_stages": None}):
            add[1](x, x, out, 1, **options)
        with self.assertRaises(OverflowError):
            add[1](x, x, out, 1 << 64)

    def test_scalars(self):
        @tilec.jit
        def f(out, i, b, v, none, K: tl.constexpr):
            if none is None:
                tl.store(out, i)
            tl.store(out + 1, b)
            tl.store(out + 2, v * K)

        out = array("d", [0] * 3)
        for i in (1, 16, -5, 2**40, -(2**63), 2**63):
            f[1](out, i, i > 0, 0.25, None, 2.5)
            self.assertEqual(list(out), [float(i), float(i > 0), 0.625])
        for k, value in ((True, 0.25), (2, 0.5), (tl.constexpr(3), 0.75), (float("inf"), math.inf), (-0.5, -0.125)):
            f[1](out, 0, False, 0.25, None, k)
            self.assertEqual(out[2], value)

    def test_types(self):
        @tilec.jit
        def double(x, n, B: tl.constexpr = 8):
            i = tl.arange(0, B)
            tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

        for code in "bBhHiIlLqQfd":
            x = array(code, [1, 2, 3, 4, 5])
            double[1](x, 5)
            self.assertEqual(list(x), [2, 4, 6, 8, 10])
        data = bytearray(b"\1\2\3\4")
        double[1](data, 2)
        self.assertEqual(data, b"\2\4\3\4")
        double[1](memoryview(data)[1:], 2)
        self.assertEqual(data, b"\2\x08\6\4")
        with self.assertRaisesRegex(TypeError, "gaps"):
            double[1](memoryview(data)[::2], 2)
        with self.assertRaisesRegex(TypeError, "format 'c'"):
            double[1](memoryview(data).cast("c"), 2)

    def test_tuples(self):
        @tilec.jit
        def f(out, t):
            tl.store(out, tl.load(t[0]) + t[1][0] * t[1][1])
            if t[2] is None:
                tl.store(out + 1, t[3])

        out = floats(2)
        f[1](out, (array("f", [5]), (2, 1.5), None, True))
        self.assertEqual(list(out), [8, 1])
        f[1](out, (array("i", [5]), (2, 3), 1, True))
        self.assertEqual(list(out), [11, 1])

        kinds = collections.namedtuple("kinds", "at count")
        pair = (kinds(array("f", [7]), 3), tl.constexpr(4), "name")

        @tilec.jit
        def g(out, t):
            tl.store(out, tl.load(t[0].at) * t[0].count)
            if t[1] == 4 and t[2] == "name":
                tl.store(out + 1, 5)

        g[1](out, pair)
        self.assertEqual(list(out), [21, 5])
        g[1](out, (pair[0], 5, "name"))
        self.assertEqual(list(out), [21, 5])
        with self.assertRaisesRegex(TypeError, "t: a text with quotes"):
            g[1](out, (pair[0], 4, 'a"'))
        with self.assertRaisesRegex(TypeError, "t: a tl.constexpr in a tuple"):
            g[1](out, (pair[0], tl.constexpr([object()]), ""))

    def test_functions_in_tuples(self):
        @tilec.jit
        def double(x):
            return x * 2

        @tilec.jit
        def triple(x):
            return x * 3

        @tilec.jit
        def f(out, fs: tl.constexpr, t):
            x = tl.load(out)
            for i in tl.static_range(len(fs)):
                x = fs[i](x)
            tl.store(out, t[0](x) + t[1].to(t[2]))

        for _ in range(2):  # compiled, and found again
            out = array("f", [1])
            f[1](out, (double, triple), (double, 7, tl.float32))
            self.assertEqual(list(out), [19])
            f[1](out, (tilec.language.constexpr((triple,))), (triple, 1, tl.float32))
            self.assertEqual(list(out), [172])

        @tilec.jit
        def g(out, op, kinds: tl.constexpr):
            tl.static_assert(kinds[0] == tl.float32 and kinds[1][0] is None)
            tl.store(out, op(tl.load(out)))

        g[1](out, double, (tl.float32, (None,)))
        self.assertEqual(list(out), [344])
        text = g.warmup(out, triple, (tl.float32, (None,)), grid=1).ptx
        self.assertIn("0f40400000", text.lower())

    def test_annotations(self):
        @tilec.jit
        def f(out, a: tl.int64, b: int, c: float, d: "u8", e: "tl.float32", p: "*i32"):
            tl.static_assert(a.dtype == tl.int64 and b.dtype == tl.int32 and c.dtype == tl.float32)
            tl.static_assert(d.dtype == tl.uint8 and e.dtype == tl.float32 and p.dtype.element_ty == tl.int32)
            tl.store(out, a * b + d)
            tl.store(out + 1, (c / 2 + e) * 4)
            if p is not None:
                tl.store(out + 2, tl.load(p))

        out = array("q", [0, 0, 0])
        one = array("f", [1])
        for _ in range(3):
            f[1](out, 1 << 31, 2, 3, 255, 0.25, one)
            self.assertEqual(list(out), [(1 << 32) + 255, 7, 0x3F800000])
        for place, bad in ((1, 1 << 63), (1, 2.5), (2, 1 << 31), (2, -(1 << 31) - 1), (3, one), (3, 10**400),
                           (4, 256), (4, -1), (5, "x"), (6, 3)):  # fmt: skip
            args = [out, 1, 1, 1.0, 1, 1, one]
            args[place] = bad
            with self.assertRaisesRegex(TypeError, "abcdep"[place - 1]):
                f[1](*args)
        f[1](out, True, -(1 << 31), 1, 0, 0, one)
        self.assertEqual(out[0], -(1 << 31))

    def test_descriptors(self):
        @tilec.jit
        def f(out, d, B: tl.constexpr):
            rows, columns = tl.arange(0, B), tl.arange(0, 4)
            tl.store(out + rows[:, None] * 4 + columns[None, :], d.load([tl.program_id(0), 2]))
            if d.shape[0] == 3:
                d.store([0, 0], d.load([1, 0]))

        x, out = floats(12), floats(8)
        for _ in range(2):
            f[1](out, tilec.TensorDescriptor(x, [3, 4], [4, 1], [2, 4]), 2)
            self.assertEqual(list(out), [2, 3, 0, 0, 6, 7, 0, 0])
            x = floats(12)
        d = tilec.TensorDescriptor(x, [2, 4], [4, 1], [2, 4], padding="nan")
        f[1](out, d, 2)
        self.assertEqual([v != v for v in out], [False, False, True, True] * 2)
        with self.assertRaises(tilec.CompilationError):
            f[1](out, tilec.TensorDescriptor(x, [3, 4], [4, 1], [4, 4]), 2)
        half = memoryview(x)[1:]
        for args in ((x, [3], [4, 1], [2, 4]), (x, [], [], []), (x, [1] * 6, [1] * 6, [1] * 6), (x, [3, 4], [4, 1], [3, 4]),
                     (x, [0, 4], [4, 1], [2, 4]), (x, [3, 4], [4, 2], [2, 4]), (x, [3, 4], [3, 1], [2, 4]),
                     (half, [2, 4], [4, 1], [2, 4]), (x, [3, 4], [4, 1], [2, 4], "one"),
                     (array("i", x.tolist() and [0] * 12), [3, 4], [4, 1], [2, 4], "nan")):  # fmt: skip
            with self.assertRaisesRegex(ValueError, "TensorDescriptor"):
                tilec.TensorDescriptor(*args)
        d.padding = "one"
        with self.assertRaisesRegex(ValueError, "f: d: the padding"):
            f[1](out, d, 2)

    def test_memory_that_overlaps_or_is_read_only(self):
        x = bytearray(64)
        v = memoryview(x).cast("f")
        v[0], v[8] = 1, 2
        add[1](v[:12], v[8:], v[4:], 4)
        self.assertEqual(list(v[4:8]), [3, 0, 0, 0])
        fixed = memoryview(bytes(v)).cast("f")
        add[1](fixed, fixed, v, 16)
        self.assertEqual(v[4], 6)
        with self.assertRaisesRegex(tilec.LaunchError, "read-only"):
            add[1](v, v, fixed, 16)
        empty = array("f")
        add[1](empty, empty, empty, 0)

    def test_memory_side_by_side(self):
        v = memoryview(bytearray(192)).cast("f")
        for device in ("cpu", "ptx"):
            for x, y, out in itertools.permutations((v[:16], v[16:32], v[32:])):
                x[15], y[15], out[15] = 1, 2, 0
                add[1](x, y, out, 16, device=device)
                self.assertEqual(out[15], 3)
                with self.assertRaises(tilec.CheckError):
                    add[2](x, y, out, 17, device=device)

    def test_grids(self):
        @tilec.jit
        def f(out, n, B: tl.constexpr = 2):
            if tl.program_id(2) == 0:
                tl.store(out + tl.program_id(0) + 2 * tl.program_id(1), tl.num_programs(2))

        out = array("i", [0] * 4)
        f[2, 2, 3](out, 1)
        self.assertEqual(list(out), [3] * 4)
        f[lambda meta: (meta["B"], tilec.cdiv(meta["n"], 2))](out, 3)
        self.assertEqual(list(out), [1] * 4)
        f[[2, 2]](out, 3)
        f[0](out, 1)
        for grid in ((), (1, 1, 1, 1), (-1,), (1 << 40,), "x", None, (1.5,), (1, 1 << 20)):
            with self.assertRaises((TypeError, ValueError, tilec.Error, OverflowError)):
                f[grid](out, 3)

    def test_devices(self):
        x = floats(20)
        for device in ("cpu", "ptx", "ptx:sm_90a"):
            out = floats(20)
            add[2](x, x, out, 20, device=device)
            self.assertEqual(out[19], 38)
        with self.assertRaises(tilec.Error):
            add[2](x, x, out, 20, device="nothing")

        @tilec.jit(device="cpu", do_not_specialize=["n"])
        def shout(n):
            tl.device_print("n is", n)

        text = io.StringIO()
        with redirect_stdout(text):
            shout[1](42)
        self.assertRegex(text.getvalue(), "n is.*42\n")

    def test_entries(self):
        @tilec.jit
        def product(a, b, c, K, row, B: tl.constexpr = 64):
            i, k = tl.arange(0, B), tl.arange(0, 32)
            a += tl.program_id(0) * B * row
            sums = tl.zeros((B, B), tl.float32)
            for at in range(0, K, 32):
                x, y = (tl.load(p + i[:, None] * row + at + k[None, :]) for p in (a, b))
                sums = tl.dot(x, y.T, sums)
            tl.store(c + tl.program_id(0) * B * B + i[:, None] * B + i[None, :], sums)

        a, c = floats(64 * 64), array("f", [7])
        asked = lambda row, grid=300, **more: product.entry(a, a, c, 64, row, grid=grid, **more)  # noqa: E731
        self.assertEqual(asked(64, device="ptx"), ("product__persistent", {}))
        name, not_by = asked(65, device="ptx")
        self.assertEqual(name, "product")
        self.assertRegex(not_by["product__persistent"], "no tensor map of 'b' .*strides must be multiples of 16 bytes")
        name, not_by = asked(64, (1,), device="ptx:sm_90a")
        self.assertRegex(not_by["product__persistent"], "it is faster from 2 places")
        self.assertEqual(asked(64, lambda meta: meta["B"], device="ptx:sm_80"), ("product", {}))
        self.assertEqual(asked(64), ("product", {}))
        self.assertEqual(asked(64, 0), (None, {}))
        self.assertEqual(c[0], 7)
        with self.assertRaises(tilec.LaunchError):
            asked(64, (1, 1 << 20))
        with self.assertRaises(TypeError):
            product.entry(a, a, grid=1)


class Again(unittest.TestCase):
    """Launches like one before take a shorter way."""

    def test_constants(self):
        @tilec.jit
        def kind(out, K: tl.constexpr, n=2):
            tl.store(out, K + n)

        out = array("d", [0])
        for _ in range(3):
            for k, value in ((1, 3), (True, 3), (2, 4), (1.5, 3.5), (1, 3), (7, 9), (8, 10), (9, 11)):
                kind[1](out, k)
                self.assertEqual(out[0], value)
                kind[1](out, K=k, n=3, num_warps=2)
                self.assertEqual(out[0], value + 1)
                kind[lambda meta: 1 if meta["n"] == 5 else 0](out, K=k, n=5)
                self.assertEqual(out[0], value + 3)
        self.assertEqual(len(kind._plans), 21)
        for call in (lambda: kind[1](out, 9, K=9), lambda: kind[1](out), lambda: kind[1](out, 9, m=3.5),
                     lambda: kind["x"](out, 9), lambda: kind[1](out, 9, 2, 3)):  # fmt: skip
            with self.assertRaises(TypeError):
                call()

    def test_many_kinds(self):
        @tilec.jit
        def kind(out, K: tl.constexpr):
            tl.store(out, K)

        out, launch, taken = array("d", [0]), kind._launch, []
        kind._launch = lambda *call: taken.append(call[1][1]) or launch(*call)
        with unittest.mock.patch("tilec._jit.PLANS", 6):
            for order in (0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 5), (5, 3, 1, 4, 2, 0), (0, 0, 6, 6, 5, 4, 3, 2, 1, 1, 0, 0):
                for k in order:
                    kind[1](out, k)
                    self.assertEqual(out[0], k)
        self.assertEqual(taken, [0, 1, 2, 3, 4, 5, 6, 0])  # the oldest goes
        self.assertEqual(len(kind._plans), 6)

    def test_calls_that_plans_leave(self):
        """They take the long way each time, and make no plans without end."""
        @tilec.jit
        def kind(out, n, K: tl.constexpr = 1):
            tl.store(out, n + K)

        number, out = enum.IntEnum("Number", "one two"), array("d", [0])
        for n in range(20):
            kind[1](out, number.two)
            kind[[1]](out, n)
            self.assertEqual(out[0], n + 1)
        self.assertLessEqual(len(kind._plans), 4)
        for n in range(20):
            kind[1](out, n, float("2.5"))  # each another object
            self.assertEqual(out[0], n + 2.5)
            kind[1](out, n, float("-0.0"))
            kind[1](out, n, float("0.0"))
        self.assertLessEqual(len(kind._plans), 7)

    def test_plans_go_with_globals(self):
        @tilec.jit
        def kind(out):
            tl.store(out, CHANGES)

        out = array("d", [0])
        for n in range(20):
            globals()["CHANGES"] = tl.constexpr(n)
            kind[1](out)
            self.assertEqual(out[0], n)
        self.assertLessEqual(len(kind._plans), 2)

    def test_mistakes(self):
        @tilec.jit
        def beyond(out, n):
            tl.store(out + n, 1)

        out = floats(4)
        beyond[1](out, 3)
        for _ in range(2):
            with self.assertRaisesRegex(tilec.CheckError, f"test_jit.py:{beyond.source[2] + 2}:13: error"):
                beyond[1](out, 4)
            with self.assertRaisesRegex(ZeroDivisionError, "by zero"):
                beyond[lambda meta: 1 // 0](out, 3)
            with self.assertRaises(ValueError):
                beyond[-1](out, 3)

    def test_kernels_go(self):
        def make():
            @tilec.jit
            def f(out):
                tl.store(out, 1)

            f[1](floats(1))
            f[1](floats(1))
            return weakref.ref(f)

        gone = make()
        gc.collect()
        self.assertIsNone(gone())


class Robust(unittest.TestCase):
    def test_references(self):
        x, out = floats(64), floats(64)
        add[4](x, x, out, 64)
        counts = [sys.getrefcount(o) for o in (x, out, add, None)][:3]
        for _ in range(100):
            add[4](x, x, out, 64)
            with self.assertRaises(TypeError):
                add[4](x, x, object(), 64)
        gc.collect()
        self.assertEqual(counts, [sys.getrefcount(o) for o in (x, out, add)])
        x.append(1)  # nobody holds its memory

    def test_threads(self):
        wrong = []
        x = floats(64)

        def work(k):
            out = floats(64)
            for n in range(20):
                add[4](x, x, out, 64, BLOCK=16 << (n + k) % 3)
                if out[63] != 126:
                    wrong.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_fork(self):
        x, out = floats(16), floats(16)
        add[1](x, x, out, 16)
        child = os.fork()
        if child == 0:
            add[1](x, x, out, 16)
            os._exit(0 if out[15] == 30 else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_fork_within_a_launch(self):
        """Of another thread, whose lock nobody gives back in the child."""
        x, out, stop = floats(16), floats(16), threading.Event()

        def work():
            while not stop.is_set():
                add[1 << 8](x, x, out, 16)

        add[1](x, x, out, 16)
        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(10):
                child = os.fork()
                if child == 0:
                    signal.alarm(20)
                    mine = floats(16)
                    add[1](x, x, mine, 16)
                    os._exit(0 if mine[15] == 30 else 1)
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        finally:
            stop.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()

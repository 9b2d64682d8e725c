# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_tune.py: autotune, heuristics, and compile without a launch."""
import json
import unittest
from array import array

import tilec
import tilec.language as tl

seen = []


@tilec.autotune(
    configs=[
        tilec.Config({"B": 4}, num_warps=1),
        tilec.Config({"B": 3}),  # no power of two: cannot be compiled
        tilec.Config({"B": 64}, num_warps=2, pre_hook=seen.append),
    ],
    key=["n"],
    restore_value=["x"],
    reset_to_zero=["count"],
)
@tilec.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@tilec.jit
def double(x, count, n, B: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
    tl.atomic_add(count + EVEN, 1)


@tilec.jit
def fill(x, n, V: tl.constexpr, B: tl.constexpr = 128):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, V, mask=i < n)


class Tune(unittest.TestCase):
    def test_autotune(self):
        x, count = array("f", range(256)), array("i", [0, 0])
        grid = lambda meta: (tilec.cdiv(meta["n"], meta["B"]),)  # noqa: E731
        double[grid](x, count, 256)
        self.assertEqual(list(x[:3]), [0, 2, 4])
        self.assertEqual(double.best_config.kwargs["B"], 64)  # fewer programs of the interpreter
        self.assertEqual(list(count), [0, 4])
        self.assertIsInstance(double.timings[1], tilec.CompilationError)
        self.assertGreater(double.timings[0], double.timings[2])
        self.assertTrue(seen and seen[-1]["B"] == 64)
        double[grid](x, count, 256)
        self.assertEqual((x[1], len(double.cache)), (4, 1))
        double[grid](x, count, 100)
        self.assertEqual((x[1], len(double.cache)), (8, 2))
        with self.assertRaisesRegex(ValueError, "B is given"):
            double[grid](x, count, 256, B=4)

    def test_entry(self):
        x, count = array("f", range(512)), array("i", [0, 0])
        grid = lambda meta: (tilec.cdiv(meta["n"], meta["B"]),)  # noqa: E731
        with self.assertRaisesRegex(ValueError, "double: no config is chosen for such arguments before"):
            double.entry(x, count, 512, grid=grid)
        double[grid](x, count, 512)
        self.assertEqual(double.entry(x, count, 512, grid=grid), ("double", {}))
        self.assertEqual((x[1], sum(count)), (2, 8))  # nothing was launched
        self.assertEqual(double.fn.entry(x, count, 512, B=4, grid=grid, device="ptx"), ("double", {}))
        one = tilec.autotune([tilec.Config({"V": 1})], key=[])(fill)
        self.assertEqual(one.entry(x, 4, grid=1), ("fill", {}))
        with self.assertRaisesRegex(ValueError, "V is given"):
            one.entry(x, 4, V=1, grid=1)

    def test_what_is_refused(self):
        for make in (
            lambda: tilec.autotune([tilec.Config({})], key=["nothing"])(fill),
            lambda: tilec.autotune([3], key=[])(fill),
            lambda: tilec.autotune([], key=[], nothing=1),
            lambda: tilec.autotune([], key=[], prune_configs_by={"perf_model": 1})(fill),
            lambda: tilec.heuristics({"nothing": len})(fill),
            lambda: tilec.heuristics({})(len),
        ):
            with self.assertRaises((ValueError, TypeError)):
                make()
        bad = tilec.autotune([tilec.Config({"B": 3}), tilec.Config({"B": 5})], key=[])(fill)
        with self.assertRaises(tilec.CompilationError):
            bad[1](array("f", [0]), 1, 1)

    def test_host_functions(self):
        self.assertEqual([tilec.cdiv(7, 4), tilec.cdiv(8, 4)], [2, 2])
        self.assertEqual([tilec.next_power_of_2(n) for n in (0, 1, 2, 3, 5, 1024, 1025)], [0, 1, 2, 4, 8, 1024, 2048])


class Compile(unittest.TestCase):
    def test_texts(self):
        made = tilec.compile(fill, {"x": "*fp32:16", "n": "i32"}, {"V": 1.5}, target="sm_90a", num_warps=2)
        self.assertIn(".target sm_90a", made.ptx)
        self.assertIn("kernel @fill", made.tir)
        self.assertEqual(json.loads(made.manifest)["kernels"][0]["num_warps"], 2)
        self.assertTrue("define" in made.llvm and made.layout and made.stats)
        self.assertIn("fill", made.report())
        json.loads(made.report("json"))
        self.assertIn("<html", made.report("html"))
        made = tilec.compile(double, "x=*fp32, count=*i32, n=i32", {"B": 4, "EVEN": True})
        self.assertIn(".entry double", made.ptx)

    def test_what_is_refused(self):
        types = {"x": "*fp32:16", "n": "i32"}
        for args, kwargs, error in (
            ((fill, types), {}, TypeError),
            ((fill, {"y": "i32"}, {"V": 1}), {}, TypeError),
            ((fill, types, {"V": 1, "W": 1}), {}, TypeError),
            ((fill, types, {"V": 1}, "sm_1"), {}, tilec.Error),
            ((fill, types, {"V": 1}), {"nothing": 1}, tilec.Error),
            ((fill, {"x": "?"}, {"V": 1}), {}, tilec.CompilationError),
            ((len, types), {}, TypeError),
        ):
            with self.assertRaises(error):
                tilec.compile(*args, **kwargs)
        with self.assertRaises(ValueError):
            tilec.compile(fill, types, {"V": 1}).report("pdf")


if __name__ == "__main__":
    unittest.main()

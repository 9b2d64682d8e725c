# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_drop_in.py: sources that say `import tilec.triton as triton`, and install() with a package that has what
install() touches of Triton's, or with Triton itself where that is installed."""
import importlib.util
import io
import os
import sys
import tempfile
import types
import unittest
from array import array
from contextlib import redirect_stdout

import tilec
import tilec.triton as triton
import tilec.triton.language as tl
from tilec.triton.language.extra import libdevice
from tilec.triton.tools.tensor_descriptor import TensorDescriptor


@triton.constexpr_function
def half(n):
    return n // 2


@triton.autotune(configs=[triton.Config({"B": b}, num_warps=w) for b, w in ((16, 1), (32, 2))], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def scale(x, out, n, factor: tl.constexpr, B: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = (i < n) | EVEN
    tl.store(out + i, libdevice.floor(tl.load(x + i, mask=mask) * half(factor)) + triton.cdiv(B, B), mask=mask)


class DropIn(unittest.TestCase):
    def test_source(self):
        x, out = array("f", range(50)), array("f", bytes(200))
        for n in (50, 32):
            scale[lambda meta: (triton.cdiv(n, meta["B"]),)](x, out, n, factor=5)
            self.assertEqual(list(out), [2.0 * v + 1 for v in x])
        self.assertIn(scale.best_config.num_warps, (1, 2))
        self.assertIs(TensorDescriptor, tilec.TensorDescriptor)
        self.assertIs(tl, tilec.language)
        self.assertEqual((triton.cdiv(7, 2), triton.next_power_of_2(17), triton.next_power_of_2(0)), (4, 32, 0))

    def test_names(self):
        for name in triton.__all__:
            self.assertTrue(hasattr(triton, name), name)
        for name, hint in (("compile", "tilec.compile"), ("nothing", "nothing")):
            with self.assertRaisesRegex(AttributeError, hint):
                getattr(triton, name)
        triton.set_allocator(None)

    def test_constexpr_functions_of_python(self):
        @tilec.jit
        def f(out, n: tl.constexpr):
            tl.store(out + tl.arange(0, tilec.next_power_of_2(n)), tilec.cdiv(n, 2))

        out = array("i", bytes(20))
        f[1](out, 3)
        self.assertEqual(list(out), [2, 2, 2, 2, 0])
        self.assertEqual(half(9), 4)
        self.assertIs(tilec.constexpr_function(half), half)
        for bad in (3, print, f):
            with self.assertRaises(TypeError):
                tilec.constexpr_function(bad)

    def test_warmup(self):
        kernel = scale.fn.fn
        x = array("f", range(64))
        made = kernel.warmup(x, tl.float16, 64, 2, B=64, EVEN=True, num_warps=2, grid=(1,))
        self.assertIn(".visible .entry scale", made.asm["ptx"])
        self.assertEqual((made.metadata.name, made.metadata.num_warps), ("scale", 2))
        self.assertIn("*fp16", made.asm["ttir"])
        with self.assertRaises(tilec.CompilationError):
            kernel.warmup(x, x, 64, 2, B=3, EVEN=True)

    def test_driver(self):
        driver = triton.runtime.driver.active
        if driver.on_gpu():
            self.skipTest("there is a GPU")
        self.assertEqual(driver.get_current_target().backend, "cpu")
        facts = driver.utils.get_device_properties(driver.get_current_device())
        self.assertTrue(all(v > 0 for v in facts.values()) and facts["multiprocessor_count"])
        with self.assertRaises(ValueError):
            driver.set_current_device(1)


class Testing(unittest.TestCase):
    def test_do_bench(self):
        calls = []
        took = triton.testing.do_bench(lambda: calls.append(sum(range(1000))), warmup=1, rep=2)
        self.assertTrue(0 < took < 100 and len(calls) > 1)
        low, high = triton.testing.do_bench(lambda: sum(range(1000)), warmup=1, rep=2, quantiles=[0.2, 0.8])
        self.assertLessEqual(low, high)
        with self.assertRaisesRegex(ValueError, "return_mode"):
            triton.testing.do_bench(lambda: None, return_mode="best")
        with self.assertRaises(ZeroDivisionError):
            triton.testing.do_bench(lambda: 1 // 0)

    def test_summaries(self):
        of = triton.testing.summarize
        times = [4.0, 1.0, 3.0, 2.0]
        self.assertEqual([of(times, None, m) for m in ("mean", "median", "min", "max")], [2.5, 2.5, 1, 4])
        self.assertEqual(of(times, None, "all"), [1, 2, 3, 4])
        self.assertEqual(of(times, [0, 0.5, 1]), [1, 2.5, 4])
        self.assertEqual(of(times, [0.25]), 1.75)

    def test_perf_report(self):
        bench = triton.testing.Benchmark(["n", "m"], [(1, 2), (30, 4)], "provider", ["a", "b"], ["A", "B"], "speed", {"k": 2})

        @triton.testing.perf_report(bench)
        def measure(n, m, provider, k, more=0):
            return (n * m * k + more, 0, 0) if provider == "a" else 0.5

        with tempfile.TemporaryDirectory() as box, redirect_stdout(io.StringIO()) as printed:
            measure.run(print_data=True, save_path=box, more=1)
            with open(os.path.join(box, "speed.csv")) as f:
                self.assertEqual(f.read(), "n,m,A,B\n1,2,5,0.5\n30,4,241,0.5\n")
        self.assertEqual(printed.getvalue(), "speed:\n n  m    A    B\n 1  2    5  0.5\n30  4  241  0.5\n")
        bench.x_vals = [(1, 2, 3)]
        with self.assertRaisesRegex(ValueError, "one value for each of n, m"):
            measure.run()
        with self.assertRaises(ValueError):
            triton.testing.Benchmark(["n"], [1], "p", [1, 2], ["one"], "x", {})


def stand_in():
    """Modules with what install() touches of Triton's."""

    class JITFunction:
        def __init__(self, fn):
            self.fn, self.pre_run_hooks, self.do_not_specialize = fn, [], ["n"]

        def run(self, *args, grid, warmup, **kwargs):
            return "Triton's"

        def __getitem__(self, grid):
            return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    class Drivers:
        def __init__(self):
            self.set = None

        @property
        def active(self):
            if self.set is None:
                raise RuntimeError("0 active drivers")
            return self.set

        def set_active(self, driver):
            self.set = driver

        def reset_active(self):  # looks for a default one at once
            raise RuntimeError("0 active drivers")

    JITFunction.__module__ = "triton.runtime.jit"
    modules = {name: types.ModuleType(name) for name in ("triton", "triton.runtime", "triton.runtime.jit", "triton.runtime.driver",
                                                         "triton.language")}  # fmt: skip
    modules["triton.runtime.jit"].JITFunction = JITFunction
    modules["triton.runtime.driver"].driver = Drivers()
    return modules, JITFunction


def plus(x, n):
    tl.store(x + tl.arange(0, 4), tl.load(x + tl.arange(0, 4)) + n)


class Install(unittest.TestCase):
    def setUp(self):
        modules, self.JITFunction = stand_in()
        self.before = {name: sys.modules[name] for name in list(sys.modules) if name.split(".")[0] == "triton"}
        for name in self.before:
            del sys.modules[name]
        sys.modules.update(modules)
        self.kernel = self.JITFunction(types.FunctionType(plus.__code__, globals(), "plus"))
        self.kernel.fn.__module__ = "library.ops.plus"

    def tearDown(self):
        for name in [name for name in sys.modules if name.split(".")[0] == "triton"]:
            del sys.modules[name]
        sys.modules.update(self.before)

    def test_which_modules(self):
        x = array("f", range(4))
        with tilec.install("library") as installed:
            for _ in range(3):
                self.assertIsNone(self.kernel[(1,)](x, 1.0))
            self.assertEqual(list(x), [3, 4, 5, 6])
            self.assertEqual(installed.launched, {"library.ops.plus.plus"})
            with tilec.install("lib", "library.op"):  # neither is a name of a module above
                self.kernel[(1,)](x, 1.0)
            self.assertEqual(list(x), [4, 5, 6, 7])
            with tilec.install(device="ptx") as inner:
                self.kernel[(1,)](x, 1.0)
                self.assertEqual((len(inner.launched), x[0]), (1, 5))
            with self.assertRaisesRegex(tilec.CheckError, "test_drop_in.py:[0-9]+.*out of bounds"):
                self.kernel[(1,)](array("f", range(2)), 1.0)
            made = self.kernel.run(x, 1.0, grid=(1,), warmup=True)
            self.assertIn(".entry plus", made.asm["ptx"])
            seen = []
            self.kernel.pre_run_hooks.append(lambda *args: seen.append(args[1]))
            self.kernel[(1,)](x, 2.0)
            self.assertEqual(seen, [2.0])
        self.assertEqual(self.kernel[(1,)](x, 1.0), "Triton's")
        installed.remove()
        self.assertEqual(self.kernel[(1,)](x, 1.0), "Triton's")
        with tilec.install("other"):
            self.assertEqual(self.kernel[(1,)](x, 1.0), "Triton's")
        with self.assertRaises(TypeError):
            tilec.install(types)

    def test_driver(self):
        drivers = sys.modules["triton.runtime.driver"].driver
        with tilec.install("library"):
            self.assertEqual(drivers.active.get_current_stream(0), 0)
            self.assertTrue(callable(drivers.active.get_benchmarker()))
        with self.assertRaises(RuntimeError):  # as before
            drivers.active
        with tilec.install("library"):
            drivers.set_active("another's")
        self.assertEqual(drivers.active, "another's")


LIBRARY = '''
import triton
import triton.language as tl
from triton.language.extra.libdevice import rsqrt
from triton.language.math import exp2


@triton.constexpr_function
def twice(n):
    return n * 2


@triton.jit
def helper(v):
    return rsqrt(v) + exp2(v)


@triton.autotune(configs=[triton.Config({"B": 4}), triton.Config({"B": 8}, num_warps=2)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def kernel(x, n: tl.int64, B: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.static_assert(n.dtype == tl.int64)
    tl.store(x + i, helper(tl.load(x + i, i < n)) * twice(2), i < n)
'''


@unittest.skipUnless(importlib.util.find_spec("triton") and importlib.util.find_spec("torch"), "no Triton, or no PyTorch")
class Real(unittest.TestCase):
    def test_library(self):
        import torch

        with tempfile.TemporaryDirectory() as box, tilec.install("real_library") as installed:
            path = os.path.join(box, "real_library.py")
            with open(path, "w") as f:
                f.write(LIBRARY)
            spec = importlib.util.spec_from_file_location("real_library", path)
            library = importlib.util.module_from_spec(spec)
            sys.modules["real_library"] = library
            spec.loader.exec_module(library)
            x = torch.ones(16, device="cuda" if torch.cuda.is_available() else "cpu")
            for n in (16, 13):
                x[:] = 1
                library.kernel.fn.fn[lambda meta: (triton.cdiv(n, meta["B"]),)](x, n, B=4, EVEN=False)
                self.assertEqual(x.tolist(), [12] * n + [1] * (16 - n))
            library.kernel[lambda meta: (triton.cdiv(16, meta["B"]),)](torch.ones_like(x), 16)
            self.assertEqual(installed.launched, {"real_library.kernel"})
        installed.remove()
        if not torch.cuda.is_available():
            from triton.runtime.driver import driver

            with self.assertRaises(RuntimeError):  # Triton finds no GPU, as before
                driver.active


if __name__ == "__main__":
    unittest.main()

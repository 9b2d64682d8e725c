# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_extension.py: the extension module alone, which has to stand whatever it is given."""
import gc
import unittest
import weakref

from tilec import _tilec


class Extension(unittest.TestCase):
    def refuses(self, *calls):
        for call in calls:
            with self.assertRaises((TypeError, ValueError, OverflowError, AttributeError, _tilec.Error)):
                call()

    def test_contexts(self):
        context = _tilec.Context("cpu")
        self.assertEqual((context.target, context.on_host), ("cpu", True))
        self.assertIn("CPU", context.name)
        context.synchronize()
        context.synchronize(0)
        context.set_checks(63)
        context.set_launch_graphs(8)
        self.refuses(
            lambda: _tilec.Context(), lambda: _tilec.Context("x\0"), lambda: _tilec.Context(name="cpu"),
            lambda: _tilec.Context("nothing"), lambda: context.synchronize(-1), lambda: context.set_checks(-1),
            lambda: context.synchronize("x"), lambda: context.set_checks(1 << 40),
            lambda: context.set_launch_graphs(-1), lambda: context.set_launch_graphs(1 << 40), lambda: context.set_launch_graphs(),
        )  # fmt: skip

    def test_addresses(self):
        data = bytearray(10)
        where, length, read_only = _tilec.address(memoryview(data))
        self.assertTrue(where and length == 10 and not read_only)
        self.assertEqual(_tilec.address(memoryview(b"abc"))[1:], (3, 1))
        self.refuses(lambda: _tilec.address(3), lambda: _tilec.address(b"x"))
        with self.assertRaises(BufferError):
            _tilec.address(memoryview(data)[::2])

    def test_version(self):
        self.assertRegex(_tilec.version(), r"^[0-9]+[.][0-9]+[.][0-9]+$")

    def test_jits(self):
        context = _tilec.Context("cpu")
        source = "import triton, triton.language as tl\n@triton.jit\ndef f(x): tl.store(x, 1)\n"
        jit = _tilec.Jit(context, source, "f.py", "f", None, (), None, "")
        memory = (0, 14, 0, 0, 2)
        for args in (
            (), (1, 2, 3), (None, (), -1), (None, [], 0), ((1,), ((1, 2, 3, 4),), 0), ((1,), (object(),), 0),
            ((1,), ((1, 99, 0, 0, 2),), 0), ((1,), ((1, 14, 5, 4, 2),), 0), ((1,), ((-1, 14, 0, 4, 2),), 0),
            ((1,), ((0, 14, 0, 0, 0),), 0), ((1,), (memory, memory), 0), ((1,), (memory,), 0), ((1,), (1.5,), 0),
            ((1,), (None,), 1 << 70), ((1,), ((0, 14, 1 << 64, 0, 2),), 0), ("x", (memory,), 0),
        ):  # fmt: skip
            with self.assertRaises((TypeError, ValueError, OverflowError, _tilec.Error)):
                jit.launch(*args)
        for args in (
            (), (1,), (context, 1, 2, 3, 4, 5, 6, 7), (context, "a\0b", "f", "f", None, (), None, ""),
            (None, source, "f", "f", None, (), None, ""), (context, source, "f", "f", None, ("a\0",), None, ""),
            (context, source, "f", "g", None, (), None, ""), (context, source, "f", "f", "?", (3,), None, ""),
            (context, source, "f", "f", None, (), "num_warps=x", ""),
        ):  # fmt: skip
            with self.assertRaises((TypeError, ValueError, _tilec.Error)):
                _tilec.Jit(*args)

    def test_plans(self):
        class Kernel(_tilec.Launchable):
            def __init__(self):
                self._plans = (3, None)

            def _launch(self, grid, args, kwargs):
                return grid, args, kwargs

        self.assertEqual(_tilec.Launcher(Kernel(), 5)(1, a=2), (5, (1,), {"a": 2}))
        context = _tilec.Context("cpu")
        source = "import triton, triton.language as tl\n@triton.jit\ndef f(x): tl.store(x, 1)\n"
        jit = _tilec.Jit(context, source, "f.py", "f", None, (), None, "")
        good = [jit, (("x", None, None, 0),), (), (), (), len, None, len, 1, -1]
        _tilec.Plan(*good)
        for place, bad in ((0, None), (1, ()), (1, ((1, None, None, 0),)), (1, (("x", 3, None, 0),)), (1, (("x",),)),
                           (1, (("x", None, None, "0"),)), (2, ("a",)), (2, (3,)), (3, (1,)), (4, ((3, "x", 1),)),
                           (4, (({}, 5, 1),)), (8, -1), (8, 2)):  # fmt: skip
            self.refuses(lambda: _tilec.Plan(*good[:place], bad, *good[place + 1:]))
        self.refuses(lambda: _tilec.Launcher(), lambda: _tilec.Launcher(3, 1)(2), lambda: Kernel()._missing)
        kernel = Kernel()
        del kernel._plans
        self.assertEqual(kernel[5](1, a=2), (5, (1,), {"a": 2}))
        kernel._plans = [kernel]  # no tuple, and a circle
        self.assertEqual([_tilec.Launcher(kernel, n)(0) for n in range(3)], [(n, (0,), {}) for n in range(3)])
        gone = weakref.ref(kernel)
        del kernel
        gc.collect()
        self.assertIsNone(gone())

    def test_compile(self):
        source = "import triton, triton.language as tl\n@triton.jit\ndef f(x): tl.store(x, 1)\n"
        made = _tilec.compile(source, "f.py", "f", "*fp32", (), None, "sm_90a", 0, 0, True)
        self.assertIn(".visible .entry f", made.text(0))
        self.assertIn("f", made.report(0))
        with self.assertRaises(_tilec.CompilationError):
            _tilec.compile(source, "f.py", "f", None, (), None, None, 0, 0, False)
        self.refuses(
            lambda: _tilec.Compiled(), lambda: _tilec.compile(1), lambda: made.text(99), lambda: made.report(-1),
            lambda: _tilec.compile(source, "f.py", "f", "*fp32", (), None, None, 77, 0, False),
            lambda: _tilec.compile(source, "f.py", "f", "*fp32", (), None, "sm_1", 0, 0, False),
            lambda: _tilec.compile(source, "f.py", "f", "*fp32", (), None, "cpu", 0, 0, False),
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()

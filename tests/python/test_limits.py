# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_limits.py: the package's own limits, those of "Python" in tests/limits.tsv, from within and from beyond."""
import io
import unittest
from contextlib import redirect_stdout

import tilec
import tilec.language as tl
from tilec import _source, _tilec

SOURCE = "import triton, triton.language as tl\n@triton.jit\ndef f(x): tl.store(x, 1)\n"


class Limits(unittest.TestCase):
    def test_arguments_of_a_launch(self):
        jit = _tilec.Jit(_tilec.Context("cpu"), SOURCE, "f.py", "f", None, (), None, "")
        for n, said in (4096, "argument"), (4097, "a launch takes 4096 arguments at most"):
            with self.assertRaises(Exception) as e:
                jit.launch((1,), (1,) * n, 0)
            self.assertIn(said, str(e.exception))

    def test_texts_of_a_call(self):
        for n, said in (65536, ""), (65537, "more than 65536 (the limit)"):
            with self.assertRaises(Exception) as e:
                _tilec.Jit(_tilec.Context("cpu"), SOURCE, "f.py", "f", None, ("x",) * n, None, "").launch((1,), (), 0)
            self.assertIn(said, str(e.exception))
            self.assertEqual("the limit" in str(e.exception), n > 65536)

    def test_functions_of_a_kernel(self):
        before = _source.FUNCTIONS_AT_MOST
        self.assertEqual(before, 1000)
        _source.FUNCTIONS_AT_MOST = 1  # a thousand functions would need a file of their own

        @tilec.jit
        def first(v):
            return v + 1

        @tilec.jit
        def second(v):
            return first(v) + 1

        @tilec.jit
        def one(out):
            tl.store(out, first(1))

        @tilec.jit
        def two(out):
            tl.store(out, second(1))

        try:
            one[1](bytearray(8))
            with self.assertRaisesRegex(tilec.CompilationError, "calls more than 1 functions .E0820."):
                two[1](bytearray(8))
        finally:
            _source.FUNCTIONS_AT_MOST = before

    def test_what_kernels_print(self):
        @tilec.jit
        def shout(n, B: tl.constexpr):
            i = tl.arange(0, B)
            tl.device_print("a line of some length, so that not so many of them are needed for all of it, which is much", i + n)

        text = io.StringIO()
        with redirect_stdout(text):
            shout[1](42, B=1024, device="cpu")
        self.assertEqual(text.getvalue().count("\n"), 1024)
        text = io.StringIO()
        with redirect_stdout(text):
            shout[1](42, B=1 << 18, device="cpu")
        self.assertTrue(16 << 20 >= len(text.getvalue()) > (16 << 20) - 1000)
        self.assertTrue(text.getvalue().endswith("\n... more than 16 MB in one launch: the rest is left out\n"))


if __name__ == "__main__":
    unittest.main()

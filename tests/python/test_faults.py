# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_faults.py: the extension module while the n-th allocation of Python fails, for every n: MemoryError, or what
comes without a failure, and nothing that breaks what follows."""
import sys
import unittest
from array import array

import tilec
import tilec.language as tl
from tilec import _tilec

try:
    from _testcapi import remove_mem_hooks, set_nomemory
except ImportError:  # a Python without its own tests
    set_nomemory = None

SOURCE = """import triton, triton.language as tl
@triton.jit
def f(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, i * n)
"""
I32, READ_WRITE_ON_HOST = 4, 2
RUN_OUT = 40  # so many in a row without a failure: nothing is left that could fail


def launched():
    data = bytearray(64)
    at, length, _ = _tilec.address(memoryview(data))
    context = _tilec.Context("cpu")
    jit = _tilec.Jit(context, SOURCE, "f.py", "f", None, ("B=16",), "num_warps=1", "")
    jit.launch((1,), ((at, I32, at, at + length, READ_WRITE_ON_HOST), 3), 0)
    return bytes(data)


def compiled():
    made = _tilec.compile(SOURCE, "f.py", "f", "*i32,i32", ("B=16",), None, "sm_80", 0, 0, True)
    return made.text(0), made.report(0)


def planned():
    context = _tilec.Context("cpu")
    jit = _tilec.Jit(context, SOURCE, "f.py", "f", None, (), None, "")
    plan = _tilec.Plan(jit, (("x", None, None, 0),), (), (), (), len, None, len, 1, -1)
    return type(plan).__name__


@tilec.jit
def fill(x, n, B: tl.constexpr = 16):
    i = tl.arange(0, B)
    tl.store(x + i, i * n)


def called():
    out, more = array("i", [0] * 16), array("i", [0] * 16)
    fill[1](out, 3)
    fill[(1,)](more, 5, B=8)
    fill[lambda meta: (1,)](out, n=4)
    return list(out + more)


def refused():
    try:
        _tilec.compile("def f(: pass", "f.py", "f", None, (), None, None, 0, 0, False)
    except _tilec.CompilationError as e:
        return str(e), e.code
    return None


@unittest.skipIf(set_nomemory is None, "there is no _testcapi")
class Faults(unittest.TestCase):
    def every_allocation(self, life):
        expected, failed, whole, n = life(), 0, 0, 0
        while whole < RUN_OUT:
            n += 1
            self.assertLess(n, 5000)
            got = None
            set_nomemory(n, n + 1)
            try:
                got = life()
            except MemoryError:
                pass
            finally:
                remove_mem_hooks()
            failed += got is None
            whole = 0 if got is None else whole + 1
            if got is not None:
                self.assertEqual(got, expected, f"allocation {n}")
            if n % 16 == 0:
                self.assertEqual(life(), expected)
        self.assertGreater(failed, 3)

    def test_launches(self):
        self.every_allocation(launched)

    def test_compilations(self):
        self.every_allocation(compiled)

    @unittest.skipIf(sys.version_info >= (3, 12), "Python frees a function's code twice, without tilec, too, as its frame finds no memory")
    def test_calls(self):
        self.every_allocation(called)

    def test_plans(self):
        self.every_allocation(planned)

    def test_refusals(self):
        self.every_allocation(refused)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_extension.py: the extension module alone, which has to stand whatever it is given."""
import unittest

from tilec import _tilec


class Extension(unittest.TestCase):
    def refuses(self, *calls):
        for call in calls:
            with self.assertRaises((TypeError, ValueError, OverflowError, _tilec.Error)):
                call()

    def test_contexts(self):
        context = _tilec.Context("cpu")
        self.assertEqual((context.target, context.on_host), ("cpu", True))
        self.assertIn("CPU", context.name)
        context.synchronize()
        context.synchronize(0)
        context.set_checks(63)
        self.refuses(
            lambda: _tilec.Context(), lambda: _tilec.Context("x\0"), lambda: _tilec.Context(name="cpu"),
            lambda: _tilec.Context("nothing"), lambda: context.synchronize(-1), lambda: context.set_checks(-1),
            lambda: context.synchronize("x"), lambda: context.set_checks(1 << 40),
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


if __name__ == "__main__":
    unittest.main()

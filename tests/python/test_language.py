# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_language.py: tilec.language has the names that the compiler has, and computes nothing."""
import ast
import os
import re
import unittest

import tilec
import tilec.language as tl


class Language(unittest.TestCase):
    def test_names(self):
        page = os.path.join(os.path.dirname(__file__), "../../docs/builtins.md")
        if not os.path.exists(page):
            self.skipTest("no docs/builtins.md beside the tests")
        with open(page, encoding="utf-8") as f:
            supported = f.read().split("## Part of Triton")[0]
        names = set(re.findall(r"`tl\.([a-zA-Z_0-9]+)`", supported))
        self.assertGreater(len(names), 100)
        self.assertEqual([n for n in sorted(names) if not hasattr(tl, n)], [])

    def test_stubs(self):
        folder = os.path.dirname(tilec.__file__)
        for module, stub in ((tilec, "__init__.pyi"), (tl, "language.pyi")):
            with open(os.path.join(folder, stub), encoding="utf-8") as f:
                tree = ast.parse(f.read())
            said = {n.name for n in tree.body if hasattr(n, "name")}
            said |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
            public = getattr(module, "__all__", None) or [
                n for n, v in vars(module).items() if not n.startswith("_") and n not in ("sys", "types")
            ]
            self.assertEqual([n for n in public if n not in said and n != "language"], [])
            self.assertEqual([n for n in said if not hasattr(module, n) and not n.startswith("_")], [])

    def test_outside_of_kernels(self):
        for name in (tl.load, tl.math.exp2, tl.extra.cuda.libdevice.tanh):
            with self.assertRaisesRegex(RuntimeError, "in kernels only"):
                name(1)
        with self.assertRaises(AttributeError):
            tl.nothing
        self.assertEqual(repr(tl.extra.libdevice.tanh), "tl.extra.libdevice.tanh")

    def test_constexpr(self):
        five = tl.constexpr(tl.constexpr(5))
        self.assertEqual((five.value, five == 5, hash(five), range(9)[five]), (5, True, hash(5), 5))
        self.assertFalse(tl.constexpr(0))


if __name__ == "__main__":
    unittest.main()

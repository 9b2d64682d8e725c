# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py FOLDER: the tests of the Python package in FOLDER. Ends with `N passed, N failed`, as others do;
77 when there is no package: the build found no Python headers."""
import os
import sys
import tempfile
import unittest


def main(folder):
    if not os.path.isdir(os.path.join(folder, "tilec")):
        print("python: the package was not built: there was no Python.h")
        return 77
    sys.path[:0] = [os.path.abspath(folder), os.path.dirname(os.path.abspath(__file__))]
    driver = os.path.join(os.path.dirname(os.path.abspath(folder)), "tests", "fake")
    if os.path.isdir(driver):
        os.environ["TILE_FAKE_CUDA"] = driver
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TILEC_CACHE"] = cache
        suite = unittest.defaultTestLoader.discover(os.path.dirname(os.path.abspath(__file__)))
        result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed > 0


sys.exit(main(sys.argv[1]))

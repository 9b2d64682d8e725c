# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""helpers.py: functions of another file than the kernels', for test_jit.py."""
import tilec
import tilec.language as L

FACTOR = 7
OFFSET = L.constexpr(100)
TABLE = {"a": 1}


@tilec.jit
def scale(v):
    return v * FACTOR + OFFSET


@tilec.jit
def wrong(v):
    return v + nowhere  # noqa: F821

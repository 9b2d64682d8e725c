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


@tilec.aggregate
class Scaled:
    value: L.tensor
    by: L.constexpr = FACTOR

    @tilec.jit
    def get(self):
        return self.value * self.by + OFFSET


@tilec.aggregate
class Nowhere:
    value: L.tensor

    @tilec.jit
    def get(self):
        return self.value + nowhere  # noqa: F821

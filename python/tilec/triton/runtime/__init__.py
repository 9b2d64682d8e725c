# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's `runtime` package, as far as programs use it: kernels and what stands around them, and the driver."""
from ... import Autotuner, Config, Heuristics, JITFunction, autotune, heuristics, jit
from ._driver import Driver


class _Active:
    """What Triton calls `driver`."""

    def __init__(self):
        self.active = Driver()

    def set_active(self, driver):
        self.active = driver

    def reset_active(self):
        self.active = Driver()


driver = _Active()
__all__ = ["Autotuner", "Config", "Heuristics", "JITFunction", "autotune", "driver", "heuristics", "jit"]

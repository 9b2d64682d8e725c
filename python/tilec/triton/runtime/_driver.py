# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_driver.py: the device -> what programs ask Triton's driver about it. tilec.install() gives Triton such a driver
on a machine without a GPU, where Triton has none."""
import collections
import os
import sys

from ... import _device

GPUTarget = collections.namedtuple("GPUTarget", "backend arch warp_size")


class _Utilities:
    def __init__(self, driver):
        self._driver = driver

    def get_device_properties(self, index):
        """Of a GPU as PyTorch says; of the CPU device its cores, which have the registers and the shared memory of
        an H100's multiprocessors: launches there know no limit."""
        torch = self._driver._torch()
        if torch:
            facts = torch.cuda.get_device_properties(index)
            shared, registers = facts.shared_memory_per_block_optin, facts.regs_per_multiprocessor
            count = facts.multi_processor_count
        elif self._driver.on_gpu():
            raise NotImplementedError("the properties of a GPU come from PyTorch, which is not imported")
        else:
            shared, registers, count = 232448, 65536, os.cpu_count() or 1
        return {"max_shared_mem": shared, "max_num_regs": registers, "multiprocessor_count": count, "warpSize": 32}


class Driver:
    """The active device: PyTorch's current one, else the first GPU, else the CPU."""

    def __init__(self):
        self.utils = _Utilities(self)

    def _torch(self):
        torch = sys.modules.get("torch")
        return torch if torch is not None and torch.cuda.is_available() else None

    def device(self, index=None):
        """What tilec calls it."""
        if not self.on_gpu():
            return "cpu"
        return f"cuda:{self.get_current_device() if index is None else index}"

    def on_gpu(self):
        return self._torch() is not None or not _device.context("auto").on_host

    def get_current_device(self):
        torch = self._torch()
        return torch.cuda.current_device() if torch else 0

    def set_current_device(self, index):
        torch = self._torch()
        if torch:
            torch.cuda.set_device(index)
        elif index:
            raise ValueError("only PyTorch changes the current device: use device= of a launch")

    def get_current_stream(self, index=0):
        return _device.current_stream(index) if self.on_gpu() else 0

    def get_current_target(self):
        """On a machine without a GPU the backend is "cpu"."""
        target = _device.context(self.device()).target
        if not target.startswith("sm_"):
            return GPUTarget("cpu", 0, 32)
        return GPUTarget("cuda", int("".join(c for c in target[3:] if c.isdigit())), 32)

    def get_active_torch_device(self):
        import torch

        return torch.device("cuda", self.get_current_device()) if self.on_gpu() else torch.device("cpu")

    def get_device_interface(self):
        import torch

        return torch.cuda if self.on_gpu() else torch.cpu

    def get_benchmarker(self):
        from ..testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self):
        import torch

        return torch.empty(256 << 20, dtype=torch.uint8, device=self.get_active_torch_device())

    def clear_cache(self, cache):
        cache.zero_()

    def is_active(self):
        return True

    def map_python_to_cpp_type(self, ty):
        raise NotImplementedError("tilec makes its launches itself")

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_device.py: the name of a device -> its context; the current stream of whoever owns the tensors."""
import os
import sys

from . import _tilec

_contexts = {}


def context(name):
    """One for each device and process: a child made by fork needs its own."""
    if not isinstance(name, str):
        raise TypeError(f"device: a name such as 'cpu' or 'cuda:0' is wanted, not {name!r}")
    key = (name, os.getpid())
    found = _contexts.get(key)
    if found is None:
        found = _contexts.setdefault(key, _tilec.Context(name))
    return found


def current_stream(index, tensor=None):
    """Of the GPU, as the tensor's owner says, else PyTorch or CuPy; 0: the default one."""
    stream = _tilec.stream_of(tensor, index)
    if stream is not None:
        return stream
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():  # else it has chosen none
        return int(sys.modules["torch"]._C._cuda_getCurrentRawStream(index))
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        return int(cupy.cuda.get_current_stream().ptr)
    return 0


def synchronize(device="auto"):
    """Waits for all work of a device."""
    context(device).synchronize()


def set_checks(checks, device="cpu"):
    """What the CPU device watches for from now on: a sum of the CHECK_ numbers of tile.h; 63 is all."""
    context(device).set_checks(checks)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_device.py: the name of a device -> its context; the current stream of whoever owns the tensors."""
import os
import re
import sys

from . import _tilec

_contexts = {}

# Of kernels in streams, for each GPU, unless asked otherwise: 7 MB of its memory.
_LAUNCH_GRAPHS = 64


def _open(name):
    found = _tilec.Context(name)
    if not any(f"{tool}_INJECTION64_PATH" in os.environ for tool in ("CUDA", "NVTX")):
        found.set_launch_graphs(_LAUNCH_GRAPHS)  # a profiler that came by injection shows graphs as a whole
    return found


def context(name):
    """One for each device, however it is called, and process: a child made by fork needs its own."""
    if not isinstance(name, str):
        raise TypeError(f"device: a name such as 'cpu' or 'cuda:0' is wanted, not {name!r}")
    key = (name, os.getpid())
    found = _contexts.get(key)
    if found is None:
        opened, device = None, name
        if name == "auto":
            opened = _open(name)
            device = "cpu" if opened.on_host else "cuda:0"
        elif re.fullmatch(r"cuda(:[0-9]{1,4})?", name):
            device = f"cuda:{int(name[5:] or 0)}"
        own = _contexts.get((device, os.getpid())) or _contexts.setdefault((device, os.getpid()), opened or _open(device))
        found = _contexts.setdefault(key, own)
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


def set_launch_graphs(at_most, device="cuda:0"):
    """Of how many kernels, each in each of its streams, launches on this GPU go as CUDA graphs of one kernel, from the
    sixteenth on, which takes the host half the time: 64 unless this, or a profiler that was injected, says otherwise; 0 is none,
    1024 the most. A graph holds 113 KB of the GPU's memory. tile.h's tile_context_set_launch_graphs says what differs."""
    context(device).set_launch_graphs(at_most)

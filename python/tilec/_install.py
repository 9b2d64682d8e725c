# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_install.py: launches of an installed Triton's functions -> launches of tilec's, for the modules that are named."""
from . import _tilec
from ._jit import JITFunction, promises_of

_installed = []  # the newest first
_original = None  # Triton's JITFunction.run
_stands_in = None  # our Driver, where Triton finds none


class Installed:
    """What install() has done, until remove(); `with` removes it at the end."""

    def __init__(self, modules, device):
        self.modules, self.device = modules, device
        self.launched = set()  # "module.kernel" of those that went through tilec

    def takes(self, module):
        return not self.modules or any(module == m or module.startswith(m + ".") for m in self.modules)

    def remove(self):
        if self in _installed:
            _installed.remove(self)
        if not _installed:
            _restore()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def install(*modules, device=None):
    """Makes @triton.jit functions of these modules and those below them run through tilec, whether they are there
    already or imported later; without a name, all. device: where, if not where the tensors are. Kernels that PyTorch's
    compiler writes for itself are launched by it, and not through here."""
    for name in modules:
        if not isinstance(name, str):
            raise TypeError(f"install: names of modules, as texts, not a {type(name).__name__}")
    installed = Installed(modules, device)
    if not _installed:
        _patch()
    _installed.insert(0, installed)
    return installed


def _ours(function, installed):
    """Our kernel for one of Triton's, which keeps it."""
    made = function.__dict__.setdefault("_tilec", {})
    kernel = made.get(installed.device)
    if kernel is None:
        promises = promises_of(lambda name: getattr(function, name, None))
        kernel = made[installed.device] = JITFunction(function.fn, installed.device, promises)
    installed.launched.add(f"{function.fn.__module__}.{function.fn.__name__}")
    return kernel


def _run(self, *args, grid, warmup, **kwargs):
    for installed in _installed:
        if installed.takes(self.fn.__module__):
            break
    else:
        return _original(self, *args, grid=grid, warmup=warmup, **kwargs)
    for hook in getattr(self, "pre_run_hooks", ()):
        hook(*args, **kwargs)
    kernel = _ours(self, installed)
    if warmup:
        return kernel.warmup(*args, grid=grid, **kwargs)
    _tilec.Launcher(kernel, grid)(*args, **kwargs)


def _patch():
    global _original, _stands_in
    from triton.runtime.driver import driver
    from triton.runtime.jit import JITFunction as Theirs

    from .triton.runtime import Driver

    _original, Theirs.run = Theirs.run, _run
    try:
        driver.active
    except RuntimeError:  # no GPU: autotuners and libraries ask it all the same
        _stands_in = Driver()
        driver.set_active(_stands_in)


def _restore():
    global _original, _stands_in
    from triton.runtime.driver import driver
    from triton.runtime.jit import JITFunction as Theirs

    if _original is not None:
        Theirs.run, _original = _original, None
    if _stands_in is not None and driver.active is _stands_in:
        try:
            driver.reset_active()
        except RuntimeError:  # it looks for one at once, and finds none as before
            driver.set_active(None)
    _stands_in = None

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_tune.py: kernels with constants that are found by measuring (autotune) or worked out (heuristics)."""
import time

from . import _tilec
from ._jit import JITFunction


class Config:
    """One choice: the constexprs, and options such as num_warps; those not given are the compiler's."""

    def __init__(self, kwargs, num_warps=None, num_stages=None, num_ctas=None, maxnreg=None, pre_hook=None):
        if not isinstance(kwargs, dict):
            raise TypeError(f"Config: a dict of constexprs is wanted first, not a {type(kwargs).__name__}")
        self.kwargs = dict(kwargs)
        self.num_warps, self.num_stages, self.num_ctas, self.maxnreg = num_warps, num_stages, num_ctas, maxnreg
        self.pre_hook = pre_hook

    def all_kwargs(self):
        options = {n: getattr(self, n) for n in ("num_warps", "num_stages", "num_ctas", "maxnreg")}
        return {**self.kwargs, **{n: v for n, v in options.items() if v is not None}}

    def __repr__(self):
        return "Config(" + ", ".join(f"{n}={v!r}" for n, v in self.all_kwargs().items()) + ")"

    def __eq__(self, other):
        return isinstance(other, Config) and self.all_kwargs() == other.all_kwargs()

    __hash__ = None


class _Around(_tilec.Launchable):
    """What stands around a kernel and launches it with more than it was given."""

    def __init__(self, fn):
        if not isinstance(fn, (JITFunction, _Around)):
            raise TypeError(f"a @tilec.jit function is wanted below, not a {type(fn).__name__}")
        self.fn, self.arg_names = fn, fn.arg_names
        self.__name__, self.__doc__, self.__module__ = fn.__name__, fn.__doc__, fn.__module__

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)

    def run(self, *args, grid, **kwargs):
        return self._launch(grid, args, kwargs)

    def _known(self, names, what):
        unknown = [n for n in names if n not in self.arg_names]
        if unknown:
            raise ValueError(f"{what} of {self.__name__}: there is no argument {', '.join(map(repr, unknown))}")


class Heuristics(_Around):
    def __init__(self, fn, values):
        super().__init__(fn)
        if not isinstance(values, dict):
            raise TypeError(f"heuristics of {self.__name__}: a dict of functions is wanted, not a {type(values).__name__}")
        self._known(values, "heuristics")
        self.values = dict(values)

    def _with_more(self, args, kwargs):
        given = {**dict(zip(self.arg_names, args)), **kwargs}
        more = {}
        for name, work_out in self.values.items():
            more[name] = work_out({**given, **more})
        return {**kwargs, **more}

    def _launch(self, grid, args, kwargs):
        return self.fn._launch(grid, args, self._with_more(args, kwargs))

    def entry(self, *args, grid, **kwargs):
        """What JITFunction.entry says of the kernel with the values that are worked out."""
        return self.fn.entry(*args, grid=grid, **self._with_more(args, kwargs))


def _zero(value):
    if hasattr(value, "zero_"):
        value.zero_()
    elif hasattr(value, "fill"):
        value.fill(0)
    else:
        view = memoryview(value).cast("B")
        view[:] = bytes(len(view))


def _keep(value):
    """A function that puts the elements back."""
    if hasattr(value, "clone") and hasattr(value, "copy_"):
        kept = value.clone()
        return lambda: value.copy_(kept)
    if hasattr(value, "__array_interface__") or hasattr(value, "__cuda_array_interface__"):
        kept = value.copy()
        return lambda: value.__setitem__(Ellipsis, kept)
    kept = bytes(memoryview(value).cast("B"))
    return lambda: memoryview(value).cast("B").__setitem__(slice(None), kept)


class Autotuner(_Around):
    BUDGET = 0.1  # seconds for timing one config

    def __init__(self, fn, configs, key, reset_to_zero, restore_value, prune_configs_by, pre_hook, post_hook):
        super().__init__(fn)
        for what, value in (("configs", configs), ("key", key)):
            if isinstance(value, str) or not hasattr(value, "__iter__"):
                raise TypeError(f"autotune of {self.__name__}: {what} is a list, not a {type(value).__name__}")
        self.configs = list(configs) or [Config({})]
        self.keys = list(key)
        self.reset_to_zero, self.restore_value = list(reset_to_zero or ()), list(restore_value or ())
        self._known(self.keys + self.reset_to_zero + self.restore_value, "autotune")
        for config in self.configs:
            if not isinstance(config, Config):
                raise TypeError(f"autotune of {self.__name__}: a config is a tilec.Config")
        prune = dict(prune_configs_by or {})
        self.prune = prune.pop("early_config_prune", None)
        if prune:
            raise TypeError(f"autotune of {self.__name__}: prune_configs_by knows early_config_prune alone")
        self.pre_hook, self.post_hook = pre_hook, post_hook
        self.cache = {}  # key -> the fastest config
        self.best_config = None
        self.timings = {}  # of the last tuning: seconds, or the exception, by the config's place in the list

    def _key(self, given):
        key = [repr(given.get(n)) for n in self.keys]
        for name, value in given.items():
            kind = getattr(value, "dtype", None) or getattr(value, "typecode", None)
            if kind is not None:
                key.append(f"{name}:{kind}")
        return tuple(key)

    def _given(self, args, kwargs):
        given = {**dict(zip(self.arg_names, args)), **kwargs}
        for config in self.configs:
            twice = [n for n in config.kwargs if n in given]
            if twice:
                raise ValueError(f"{self.__name__}: {', '.join(twice)} is given, and in the configs, too")
        return given

    def _chosen(self, given):
        """None: none has been timed for such arguments."""
        return self.configs[0] if len(self.configs) == 1 else self.cache.get(self._key(given))

    def entry(self, *args, grid, **kwargs):
        """What JITFunction.entry says of the kernel with the config that was the fastest for such arguments. ValueError where
        none has been timed for them: nothing is launched for it."""
        config = self._chosen(self._given(args, kwargs))
        if config is None:
            raise ValueError(f"{self.__name__}: no config is chosen for such arguments before the first launch with them")
        return self.fn.entry(*args, grid=grid, **{**kwargs, **config.all_kwargs()})

    def _launch(self, grid, args, kwargs):
        given = self._given(args, kwargs)
        config = self._chosen(given)
        if config is None:
            config = self.cache[self._key(given)] = self._tune(grid, args, kwargs, given)
        self.best_config = config
        if config.pre_hook:
            config.pre_hook({**given, **config.all_kwargs()})
        return self.fn._launch(grid, args, {**kwargs, **config.all_kwargs()})

    def _tune(self, grid, args, kwargs, given):
        configs = self.configs
        if self.prune:
            configs = list(self.prune(configs, given, **kwargs))
            if not configs:
                raise ValueError(f"{self.__name__}: early_config_prune has left no config")
        self.timings, first, best = {}, None, None
        back = [_keep(given[n]) for n in self.restore_value]
        for config in configs:
            place = self.configs.index(config)
            try:
                took = self._time(config, grid, args, kwargs, given, back)
            except _tilec.CheckError:
                raise  # the kernel is wrong, whatever is chosen
            except _tilec.Error as e:
                self.timings[place] = e
                first = first or e
                continue
            finally:
                for put_back in back:
                    put_back()
                for name in self.reset_to_zero:
                    _zero(given[name])
            self.timings[place] = took
            if best is None or took < best[0]:
                best = (took, config)
        if best is None:
            raise first
        return best[1]

    def _time(self, config, grid, args, kwargs, given, back):
        more = {**kwargs, **config.all_kwargs()}

        def once():
            for name in self.reset_to_zero:
                _zero(given[name])
            for put_back in back:
                put_back()
            if config.pre_hook:
                config.pre_hook({**given, **config.all_kwargs()})
            if self.pre_hook:
                self.pre_hook(given)
            took = self._measured(lambda: self.fn[grid](*args, **more))
            if self.post_hook:
                self.post_hook(given)
            return took

        once()  # compiles
        took, end = [once()], time.perf_counter() + self.BUDGET
        while time.perf_counter() < end and len(took) < 100:
            took.append(once())
        return sorted(took)[len(took) // 2]

    def _measured(self, launch):
        """Seconds; on a GPU between events of the launch's stream, after its cache was overwritten."""
        kernel = self.fn
        while isinstance(kernel, _Around):
            kernel = kernel.fn
        if kernel.last is None:
            launch()  # tells where, and compiles
        context, stream = kernel.last
        return context.timed(launch, stream, True) / 1e3


def autotune(configs, key, *, reset_to_zero=None, restore_value=None, prune_configs_by=None, pre_hook=None,
             post_hook=None, **ignored):
    """Measures the configs at the first launch with these values of `key` and types, and takes the fastest.
    Launches write as often as they are measured: reset_to_zero and restore_value name what that must not show in."""
    for name in ignored:
        if name not in ("warmup", "rep", "use_cuda_graph", "do_bench", "cache_results"):
            raise TypeError(f"autotune() has no option '{name}'")
    return lambda fn: Autotuner(fn, configs, key, reset_to_zero, restore_value, prune_configs_by, pre_hook, post_hook)


def heuristics(values):
    """Works constants out of the other arguments at each launch: {"EVEN": lambda args: args["n"] % 16 == 0}."""
    return lambda fn: Heuristics(fn, values)

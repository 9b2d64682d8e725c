# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""testing.py: a function -> how long it takes; a function and a range of sizes -> a table, and a plot where
matplotlib is installed."""
import os
import statistics
import sys
import time

from .. import _device

MODES = ("mean", "median", "min", "max", "all")


def _quantile(times, q):
    at = q * (len(times) - 1)
    low = int(at)
    high = min(low + 1, len(times) - 1)
    return times[low] + (times[high] - times[low]) * (at - low)


def summarize(times, quantiles=None, return_mode="mean"):
    """What do_bench returns for these milliseconds."""
    if return_mode not in MODES:
        raise ValueError(f"return_mode is one of {', '.join(MODES)}, not {return_mode!r}")
    times = sorted(times)
    if quantiles is not None:
        values = [_quantile(times, q) for q in quantiles]
        return values[0] if len(values) == 1 else values
    return times if return_mode == "all" else {"min": times[0], "max": times[-1], "median": statistics.median(times),
                                               "mean": statistics.fmean(times)}[return_mode]  # fmt: skip


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Milliseconds that fn() takes: on a GPU between events of the current stream, after its cache was overwritten;
    else by the clock. warmup and rep: milliseconds to spend on each."""
    summarize([0], quantiles, return_mode)
    torch = sys.modules.get("torch")
    context = _device.context("auto")
    stream = 0 if context.on_host else _device.current_stream(torch.cuda.current_device() if torch else 0)

    def once():
        for tensor in grad_to_none or ():
            tensor.grad = None
        return context.timed(fn, stream, True)

    fn()
    end = time.perf_counter() + warmup / 1e3
    estimate = [once()]
    while time.perf_counter() < end:
        estimate.append(once())
    runs = max(1, min(10000, int(rep / max(statistics.median(estimate), 1e-3))))
    return summarize([once() for _ in range(runs)], quantiles, return_mode)


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """AssertionError where two arrays differ by more than atol + rtol * |y| (both 0.01 unless given)."""
    import numpy

    def of(v):
        return v.detach().float().cpu().numpy() if hasattr(v, "detach") else numpy.asarray(v)

    def value(bound, v):
        return 1e-2 if bound is None else bound(getattr(v, "dtype", None)) if callable(bound) else bound

    numpy.testing.assert_allclose(of(x), of(y), atol=value(atol, x), rtol=value(rtol, x), equal_nan=True, err_msg=err_msg)


class Benchmark:
    """Which sizes and which lines perf_report draws."""

    def __init__(self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel="", ylabel="",
                 x_log=False, y_log=False, styles=None):  # fmt: skip
        self.x_names, self.x_vals, self.line_arg, self.line_vals = list(x_names), list(x_vals), line_arg, list(line_vals)
        self.line_names, self.plot_name, self.args = list(line_names), plot_name, dict(args)
        self.xlabel, self.ylabel, self.x_log, self.y_log, self.styles = xlabel, ylabel, x_log, y_log, styles
        if len(self.line_vals) != len(self.line_names):
            raise ValueError("Benchmark: a name for each of line_vals is wanted")


class Mark:
    """A function that perf_report stands around."""

    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def _rows(self, bench, more):
        for x in bench.x_vals:
            xs = x if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
            if len(xs) != len(bench.x_names):
                raise ValueError(f"{bench.plot_name}: {x} has not one value for each of {', '.join(bench.x_names)}")
            row = list(xs if isinstance(x, (list, tuple)) else [x])
            for line in bench.line_vals:
                value = self.fn(**dict(zip(bench.x_names, xs)), **{bench.line_arg: line}, **bench.args, **more)
                row.append(value[0] if isinstance(value, (list, tuple)) else value)
            yield row

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, **more):
        """Measures; prints a table, and writes it as CSV, and a plot where matplotlib is installed, to save_path.
        return_df: the rows, as pandas' DataFrame where that is installed."""
        tables = []
        many = isinstance(self.benchmarks, (list, tuple))
        for bench in self.benchmarks if many else [self.benchmarks]:
            rows = list(self._rows(bench, more))
            wide = len(rows[0]) - len(bench.line_names) if rows else 1
            head = (bench.x_names if wide > 1 else [bench.x_names[0]]) + bench.line_names
            if print_data:
                print(f"{bench.plot_name}:\n{table(head, rows)}")
            if save_path:
                os.makedirs(save_path, exist_ok=True)
                with open(os.path.join(save_path, bench.plot_name + ".csv"), "w") as f:
                    f.writelines(",".join(map(str, row)) + "\n" for row in [head] + rows)
            if show_plots or save_path:
                self._plot(bench, rows, wide, show_plots, save_path)
            tables.append(_frame(head, rows))
        if return_df:
            return tables if many else tables[0]

    def _plot(self, bench, rows, wide, show, save_path):
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            return
        figure, axes = plt.subplots()
        for i, name in enumerate(bench.line_names):
            color, style = bench.styles[i] if bench.styles else (None, "-")
            axes.plot([row[0] for row in rows], [row[wide + i] for row in rows], label=name, color=color, linestyle=style)
        axes.legend()
        axes.set_xlabel(bench.xlabel or bench.x_names[0])
        axes.set_ylabel(bench.ylabel)
        axes.set_xscale("log" if bench.x_log else "linear")
        axes.set_yscale("log" if bench.y_log else "linear")
        if save_path:
            figure.savefig(os.path.join(save_path, bench.plot_name + ".png"))
        if show:
            plt.show()
        plt.close(figure)


def table(head, rows):
    """Columns of one width, as text."""
    texts = [list(head)] + [[f"{v:.6g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(head))]
    return "\n".join("  ".join(text.rjust(width) for text, width in zip(row, widths)) for row in texts)


def _frame(head, rows):
    try:
        import pandas
    except ImportError:
        return [dict(zip(head, row)) for row in rows]
    return pandas.DataFrame(rows, columns=head)


def perf_report(benchmarks):
    """Around a function of sizes that returns a rate or a time."""
    return lambda fn: Mark(fn, benchmarks)

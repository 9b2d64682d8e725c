# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_torch.py: tensors of PyTorch, and operators made of kernels, where PyTorch is installed: on a GPU, if there is
one, else on the CPU device."""
import os
import subprocess
import sys
import unittest

import tilec
import tilec.language as tl

try:
    import torch
except ImportError:
    torch = None
if torch:
    from tilec.torch import operator

    DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@tilec.jit
def silu_forward(x, y, n, B: tl.constexpr = 64):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n).to(tl.float32)
    tl.store(y + i, v * tl.sigmoid(v), i < n)


@tilec.jit
def silu_backward(dy, x, dx, n, B: tl.constexpr = 64):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n).to(tl.float32)
    s = tl.sigmoid(v)
    tl.store(dx + i, tl.load(dy + i, i < n) * s * (1 + v * (1 - s)), i < n)


@tilec.jit
def scaled_kernel(x, w, scale, y, rows, B: tl.constexpr = 16):
    i = tl.arange(0, B)
    row = tl.program_id(0)
    if row < rows:
        tl.store(y + row * B + i, tl.load(x + row * B + i) * tl.load(w + i) * scale)


def grid(n):
    return lambda meta: (tilec.cdiv(n, meta["B"]),)


if torch:

    @operator("tilec_tests::silu")
    def silu(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        silu_forward[grid(x.numel())](x, y, x.numel())
        return y

    @silu.backward
    def _(dy: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        dx = torch.empty_like(x)
        silu_backward[grid(x.numel())](dy, x, dx, x.numel())
        return dx

    @operator("tilec_tests::scaled")
    def scaled(x: torch.Tensor, w: torch.Tensor, scale: float, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.empty_like(x)
        scaled_kernel[(x.shape[0],)](x, w, scale, y, x.shape[0])
        return y, torch.ones_like(w)

    @scaled.backward(of=("x", "w"))
    def _(dy: torch.Tensor, done: torch.Tensor, x: torch.Tensor, w: torch.Tensor, scale: float, ids: torch.Tensor,
          y: torch.Tensor, one: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
        dx = torch.empty_like(x)
        scaled_kernel[(x.shape[0],)](dy, w, scale, dx, x.shape[0])
        return dx, (dy * x).sum(0) * scale + done * 0


@unittest.skipUnless(torch, "PyTorch is not installed")
class Tensors(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_types_and_strides(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            x = torch.randn(50, device=DEVICE).to(dtype)
            y = torch.zeros(100, dtype=dtype, device=DEVICE)
            silu_forward[grid(50)](x, y[25:], 50)
            expected = torch.nn.functional.silu(x.float()).to(dtype)
            torch.testing.assert_close(y[25:75], expected, atol=1e-6, rtol=2e-2)
            self.assertEqual(y[:25].abs().sum() + y[75:].abs().sum(), 0)
        with self.assertRaisesRegex(ValueError, "no such elements"):
            silu_forward[1](torch.zeros(3, dtype=torch.complex64, device=DEVICE), y, 3)

    def test_parameters_and_views(self):
        p = torch.nn.Parameter(torch.randn(4, 16, device=DEVICE))
        y = torch.empty_like(p)
        for _ in range(2):
            silu_forward[grid(64)](p, y, 64)
            torch.testing.assert_close(y, torch.nn.functional.silu(p))

    def test_shapes_alone(self):
        x = torch.empty(50, device="meta")
        self.assertIsNone(silu_forward[grid(50)](x, x, 50))


@unittest.skipUnless(torch, "PyTorch is not installed")
class Operators(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def gradients(self, fn, *tensors):
        inputs = [t.detach().clone().requires_grad_() for t in tensors]
        out = fn(*inputs)
        (out * torch.linspace(0, 1, out.numel(), device=out.device).view_as(out)).sum().backward()
        return [out.detach()] + [t.grad for t in inputs]

    def test_autograd(self):
        x = torch.randn(5, 20, device=DEVICE)
        for got, expected in zip(self.gradients(silu, x), self.gradients(torch.nn.functional.silu, x)):
            torch.testing.assert_close(got, expected, atol=1e-6, rtol=1e-5)
        w = torch.randn(16, device=DEVICE)
        ids = torch.zeros(3, dtype=torch.int64, device=DEVICE)
        x = torch.randn(3, 16, device=DEVICE)
        for got, expected in zip(self.gradients(lambda x, w: scaled(x, w, 0.5, ids)[0], x, w),
                                 self.gradients(lambda x, w: x * w * 0.5, x, w)):  # fmt: skip
            torch.testing.assert_close(got, expected)

    def test_rules_of_operators(self):
        x = torch.randn(5, 20, device=DEVICE, requires_grad=True)
        torch.library.opcheck(silu.op, (x,))
        with self.assertRaisesRegex(ValueError, "backward of 'z'"):
            silu.backward(lambda: None, of=("z",))
        self.assertIn("tilec_tests::silu", repr(silu))

    def test_compile(self):
        def model(x):
            return silu(silu(x * 2) + 1)

        # aot_eager follows forward and backward as inductor does, and needs no C++ compiler.
        for backend in ("eager", "aot_eager") + (("inductor",) if DEVICE == "cuda" or os.environ.get("TILEC_INDUCTOR") else ()):
            torch.compiler.reset()
            compiled = torch.compile(model, backend=backend, fullgraph=True)
            for n in (20, 33):
                x = torch.randn(5, n, device=DEVICE)
                for got, expected in zip(self.gradients(compiled, x), self.gradients(model, x)):
                    torch.testing.assert_close(got, expected)

    @unittest.skipUnless(torch and torch.cuda.is_available(), "there is no GPU")
    def test_graphs(self):
        x = torch.randn(1000, device="cuda")
        silu(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = silu(silu(x))
        for _ in range(3):
            x.copy_(torch.randn_like(x))
            graph.replay()
            once = torch.nn.functional.silu(x)
            torch.testing.assert_close(y, torch.nn.functional.silu(once), atol=1e-6, rtol=1e-5)

    @unittest.skipUnless(torch and torch.cuda.is_available(), "there is no GPU")
    def test_launch_graphs(self):
        """Launches that go as graphs of one kernel: each with its own arguments, in the order of the stream, which others share;
        while a graph is captured they are part of it; and a profiler names the kernel."""
        rows = [torch.randn(900 + 37 * i, device="cuda") for i in range(64)]
        chain = torch.zeros(1000, device="cuda")
        for _ in range(40):
            silu_forward[(16,)](chain, chain, 1000)  # from the sixteenth on as a graph
            chain += 1
        expected = torch.zeros(1000, device="cuda")
        for _ in range(40):
            expected = torch.nn.functional.silu(expected) + 1
        torch.testing.assert_close(chain, expected, atol=1e-5, rtol=1e-5)
        torch.cuda._sleep(20000000)  # all of these wait
        found = [silu(row) for row in rows * 4]
        for got, row in zip(found, rows * 4):
            torch.testing.assert_close(got, torch.nn.functional.silu(row), atol=1e-6, rtol=1e-5)
        graph, x = torch.cuda.CUDAGraph(), torch.randn(1000, device="cuda")
        with torch.cuda.graph(graph):
            y = silu(silu(x))
        x.copy_(torch.randn_like(x))
        graph.replay()
        torch.testing.assert_close(y, torch.nn.functional.silu(torch.nn.functional.silu(x)), atol=1e-6, rtol=1e-5)
        kinds = torch.profiler.ProfilerActivity
        with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as profile:
            for _ in range(5):
                silu_forward[(16,)](x, y, 1000)
            torch.cuda.synchronize()
        seen = {e.key: e.count for e in profile.key_averages()}
        self.assertEqual([n for name, n in seen.items() if "silu_forward" in name], [5], seen)

    @unittest.skipUnless(torch and torch.cuda.is_available(), "there is no GPU")
    def test_streams(self):
        x = torch.randn(1 << 22, device="cuda")
        for _ in range(20):
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                torch.cuda._sleep(1000000)
                y = x + 1
                z = silu(y)
            torch.cuda.current_stream().wait_stream(side)
            torch.testing.assert_close(z, torch.nn.functional.silu(x + 1), atol=1e-6, rtol=1e-5)


EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "transformer.py")


@unittest.skipUnless(torch and os.path.exists(EXAMPLE), "PyTorch is not installed, or the example is not there")
class Transformer(unittest.TestCase):
    def test_losses(self):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        for more in ([], ["--precision=bf16", "--context=40"], ["--compile", "--backend=aot_eager"]):
            said = subprocess.run([sys.executable, "-W", "ignore", EXAMPLE, "--steps=3"] + more, env=env, stdout=subprocess.PIPE,
                                  text=True)  # fmt: skip
            self.assertEqual(said.returncode, 0, said.stdout)
            self.assertIn("largest difference", said.stdout)


if __name__ == "__main__":
    unittest.main()

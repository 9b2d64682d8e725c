# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tune_triton.py SOURCE SIZE: how long Triton's autotuner takes to choose a config of matmul_autotuned in
SOURCE for a product of SIZE: a line for tune.sh's table. The wall time is that of the first launch,
compilation included; starting Python, PyTorch and the GPU is not."""
import importlib.util
import sys
import time

import torch
import triton

path, n = sys.argv[1], int(sys.argv[2])
spec = importlib.util.spec_from_file_location("matmul_14", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
kernel = module.matmul_autotuned

a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
c = torch.empty_like(a)


def launch():
    grid = lambda v: (triton.cdiv(n, v["BM"]) * triton.cdiv(n, v["BN"]),)
    kernel[grid](a, b, c, n, n, n, n, 1, n, 1, n, 1)


torch.cuda.synchronize()
start = time.perf_counter()
launch()
torch.cuda.synchronize()
seconds = time.perf_counter() - start
best = kernel.best_config
text = ",".join(f"{k}={v}" for k, v in best.kwargs.items())
text += f",num_warps={best.num_warps},num_stages={best.num_stages}"
print(f'triton,{n},{seconds:.3f},"{text}",{triton.testing.do_bench(launch, return_mode="median"):.4f}')

# A file of a project as it stands: host code around a matmul whose configs come from functions.
# RUN: tilec --emit=tir %s -o - -s 'a_ptr=*fp16:16,b_ptr=*fp16:16,c_ptr=*fp16:16,M=i32,N=i32,K=i32,stride_am=i32,stride_ak=i32:1,stride_bk=i32,stride_bn=i32:1,stride_cm=i32,stride_cn=i32:1'
# RUN: tilec --emit=manifest %s -o - --config=7 --kernel=matmul_kernel -D ACTIVATION=leaky -s 'a_ptr=*fp16:16,b_ptr=*fp16:16,c_ptr=*fp16:16,M=i32,N=i32,K=i32,stride_am=i32,stride_ak=i32:1,stride_bk=i32,stride_bn=i32:1,stride_cm=i32,stride_cn=i32:1'
# CHECK: "constexprs": {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8, "ACTIVATION": ""}
# CHECK: "num_warps": 2, "num_stages": 3
# CHECK: kernel @matmul_kernel(
# CHECK: for {{.*}} {
# CHECK: dot
# CHECK: "constexprs": {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8, "ACTIVATION": "leaky"}
# CHECK: "num_warps": 8, "num_stages": 4
"""Matrix multiplication with a fused activation."""
from __future__ import annotations

import argparse
import logging
from typing import Optional, Tuple

import torch
import triton
import triton.language as tl

logger = logging.getLogger(__name__)
DEVICE = triton.runtime.driver.active.get_active_torch_device()


def is_cuda() -> bool:
    return triton.runtime.driver.active.get_current_target().backend == "cuda"


def get_cuda_configs():
    small = [
        triton.Config({"BLOCK_M": bm, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8}, num_stages=s, num_warps=2)
        for bm in (32, 64)
        for s in (3, 4, 5)
    ]
    large = []
    for stages in [3, 4]:
        large.append(
            triton.Config(
                {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8},
                num_stages=stages,
                num_warps=8,
            )
        )
    return small + large


def get_hip_configs():
    return [triton.Config({"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 1, "waves_per_eu": 2})]


def get_configs():
    if is_cuda():
        return get_cuda_configs()
    else:
        return get_hip_configs()


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.autotune(
    configs=get_configs(),
    key=["M", "N", "K"],
    prune_configs_by={"early_config_prune": lambda configs, named_args, **kw: configs[:4], "top_k": 2},
    reset_to_zero=["c_ptr"],
)
@triton.jit
def matmul_kernel(
        # pointers to the matrices
        a_ptr, b_ptr, c_ptr,
        # their sizes
        M, N, K,
        stride_am, stride_ak,  #
        stride_bk, stride_bn,  #
        stride_cm, stride_cn,
        BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,  #
        GROUP_M: tl.constexpr,
        ACTIVATION: tl.constexpr = "",
):
    """C = activation(A @ B).

    Programs walk the tiles of C in groups of rows.
    """
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = GROUP_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky":
        accumulator = leaky_relu(accumulator)
    c = accumulator.to(c_ptr.dtype.element_ty)
    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def matmul(a: torch.Tensor, b: torch.Tensor, activation: str = "") -> torch.Tensor:
    assert a.shape[1] == b.shape[0], f"{a.shape} and {b.shape} do not go together"
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]),)
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), ACTIVATION=activation)
    return c


class MatmulModule(torch.nn.Module):
    def __init__(self, weight: torch.Tensor, *, activation: Optional[str] = None) -> None:
        super().__init__()
        self.weight = weight
        self.activation = activation or ""

    def forward(self, x):
        try:
            return matmul(x, self.weight, self.activation)
        except Exception as error:
            logger.warning("falling back: %s", error)
            return x @ self.weight


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=512)
    args = parser.parse_args()
    torch.manual_seed(0)
    x = torch.randn((args.size, args.size), device=DEVICE, dtype=torch.float16)
    print(f"{matmul(x, x)=}")

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""matmul_maps.py: the product of matmul_tma.tl with descriptors that the host made (tensor maps), for
Triton alone: tilec makes its own. FLAT: tiles and steps of K are one loop, so that the next tile's
first copies fly while this one is stored."""
import triton
import triton.language as tl


@triton.jit
def matmul_maps(a_map, b_map, c_map, M, N, K,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr,
                STAY: tl.constexpr, FLAT: tl.constexpr):
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    tiles_in_group = GROUP_M * tiles_n
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, STAY, flatten=FLAT):
        first_m = (tile // tiles_in_group) * GROUP_M
        group_m = min(tiles_m - first_m, GROUP_M)
        m = (first_m + (tile % tiles_in_group) % group_m) * BM
        n = (tile % tiles_in_group) // group_m * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            a = a_map.load([m, k * BK])
            b = b_map.load([k * BK, n])
            acc = tl.dot(a, b, acc)
        c_map.store([m, n], acc.to(c_map.dtype))

# A persistent kernel: each program walks tiles until none is left.
# RUN: tilec --emit=tir %s -o - -s '*fp32:16, *fp32:16, i32, i32' -D BLOCK=256
# CHECK: while
# CHECK: num_programs
# CHECK: for
# CHECK: num_stages=4
import torch
import triton
import triton.language as tl


@triton.jit
def tile_bounds(tile, per_row, BLOCK: tl.constexpr):
    return tile // per_row, (tile % per_row) * BLOCK


@triton.jit
def row_sums(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr, LIMIT: tl.constexpr = None):
    tile = tl.program_id(0)
    per_row = tl.cdiv(cols, BLOCK)
    while tl.condition(True, disable_licm=True):
        row, first = tile_bounds(tile, per_row, BLOCK)
        if row >= rows:
            break
        if LIMIT is not None and tile > LIMIT:
            break
        tile += tl.num_programs(0)
        if first >= cols:
            continue
        total = tl.zeros((BLOCK,), tl.float32)
        for c in tl.range(first, cols, BLOCK, num_stages=4, flatten=True):
            at = c + tl.arange(0, BLOCK)
            total += tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0)
        tl.store(out_ptr + row, tl.sum(total, axis=0))


def sums(x):
    n = torch.cuda.get_device_properties("cuda").multi_processor_count
    out = torch.empty(x.shape[0], device=x.device)
    row_sums[(min(n, x.shape[0]),)](x, out, *x.shape, BLOCK=256)
    return out

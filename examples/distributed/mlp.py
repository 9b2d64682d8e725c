#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mlp.py: the MLP block of mlp.c from Python: tilec.jit kernels on a rank's tensors, added up by torch.distributed.

    torchrun --standalone --nproc-per-node=RANKS mlp.py [--device=auto|cuda|cpu] [--reduce=all_reduce|peer] [--tokens=N] … [--bench]

Each rank has some columns of W1 and the same rows of W2. The block is cut in chunks of rows, and what comes out of each
in pieces. --reduce=

    all_reduce  (without it) while all_reduce adds one piece up (NCCL, in its own stream; gloo without GPUs), the
                products of the next run
    peer        on GPUs of one host, PyTorch's symmetric memory: a part of a sum is copied to the rank that has its rows,
                which adds and copies the sum to all, both in a second stream; copies take no multiprocessor

Whole numbers make every sum exact, so y is the same bit for bit as of one rank, which rank 0 works out beside it. Exit
code 77 without PyTorch."""
import argparse
import os
import sys

import tilec
import tilec.language as tl

try:
    import torch
    import torch.distributed as dist
except ImportError:
    print("mlp.py: PyTorch is not installed")
    sys.exit(77)


@tilec.jit
def matmul(a, b, c, M, N, K, stride_am, stride_bk, stride_cm, ACTIVATE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr, GROUP_M: tl.constexpr = 8):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    in_group = GROUP_M * tl.cdiv(N, BN)
    first_m = (pid // in_group) * GROUP_M
    group_m = min(tiles_m - first_m, GROUP_M)
    pid_m = first_m + (pid % in_group) % group_m
    pid_n = (pid % in_group) // group_m
    offs_k = tl.arange(0, BK)
    a_ptrs = a + (((pid_m * BM + tl.arange(0, BM)) % M)[:, None] * stride_am + offs_k[None, :])
    b_ptrs = b + (offs_k[:, None] * stride_bk + ((pid_n * BN + tl.arange(0, BN)) % N)[None, :])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        y = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        a_ptrs += BK
        b_ptrs += BK * stride_bk
    if ACTIVATE:
        acc = tl.maximum(acc, 0.0)
    offs_m = pid_m * BM + tl.arange(0, BM)
    offs_n = pid_n * BN + tl.arange(0, BN)
    tl.store(c + offs_m[:, None] * stride_cm + offs_n[None, :], acc.to(tl.float16),
             mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@tilec.jit(do_not_specialize=["rank", "launch"])
def add_parts(parts, flags, out, n, part, rank, launch, RANKS: tl.constexpr, BLOCK: tl.constexpr):
    """out = the sum of RANKS parts of n elements, `part` elements apart, once the flags of the others' say that they came."""
    for r in range(RANKS):
        if r != rank:
            tl.atomic_poll(flags + r, launch, sem="acquire", scope="sys")
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for r in range(RANKS):
        total += tl.load(parts + r * part + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + i, total.to(tl.float16), mask=i < n)


def product(a, b, out, activate, shared):
    """shared: NCCL's kernels want multiprocessors, so none of ours may hold all of them to its end."""
    (m, k), n = a.shape, b.shape[1]
    meta = dict(BM=128, BN=256, BK=64, num_warps=8) if a.is_cuda else dict(BM=32, BN=32, BK=32)
    if shared:
        meta["single_entry"] = 1
    grid = (tilec.cdiv(m, meta["BM"]) * tilec.cdiv(n, meta["BN"]),)
    matmul[grid](a, b, out, m, n, k, a.stride(0), b.stride(0), out.stride(0), ACTIVATE=activate, **meta)


def block(x, w1, w2, chunks, pieces, add_up):
    """y, in `chunks` parts, of which `pieces` are added up one by one; add_up: of all ranks, where there are others."""
    h = torch.empty(x.shape[0] // chunks, w1.shape[1], dtype=x.dtype, device=x.device)
    y = torch.empty(x.shape[0], w2.shape[1], dtype=x.dtype, device=x.device)
    pending = []
    for part, out in zip(x.chunk(chunks), y.chunk(chunks)):
        product(part, w1, h, True, add_up)
        for rows, sums in zip(h.chunk(pieces), out.chunk(pieces)):
            product(rows, w2, sums, False, add_up)
            if add_up:
                pending.append(dist.all_reduce(sums, async_op=True))
    for work in pending:
        work.wait()
    return y


class Peers:
    """Memory of all ranks of this host, for sums that are added up by copies: parts[r] is rank r's, of all ranks' sums of
    its rows; sums[r] its y; flags[r][c * ranks + s] the number of the run whose part of chunk c rank s has sent."""

    def __init__(self, tokens, width, chunks, rank, ranks, device):
        from torch.distributed import _symmetric_memory as memory

        self.handles = []

        def of_all(*shape, dtype):
            mine = memory.empty(*shape, dtype=dtype, device=device).zero_()
            handle = memory.rendezvous(mine, dist.group.WORLD)
            self.handles.append(handle)
            return [mine if r == rank else handle.get_buffer(r, shape, dtype) for r in range(ranks)]

        self.rank, self.others, self.runs = rank, [(rank + s) % ranks for s in range(1, ranks)], 0
        self.write_value = memory._SymmetricMemory.stream_write_value32
        self.parts = of_all(ranks, chunks, tokens // chunks // ranks, width, dtype=torch.float16)
        self.sums = of_all(chunks, ranks, tokens // chunks // ranks, width, dtype=torch.float16)
        self.flags = of_all(chunks * ranks, dtype=torch.int32)
        self.made = torch.empty_like(self.sums[rank])
        self.beside = torch.cuda.Stream(device)
        torch.cuda.synchronize(device)
        dist.barrier()

    def send(self, there, here, flag=None):
        """A copy behind what the current stream has by now, and behind it the number of this run: flag is (flags, index)."""
        self.beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.beside):
            there.copy_(here, non_blocking=True)
            if flag:
                self.write_value(flag[0].view(torch.uint32), offset=flag[1], val=self.runs)

    def block(self, x, w1, w2, chunks, pieces):
        """y, as `block` has it; others' rows come first, so that they are on their way while this rank's are worked out."""
        rank, ranks, sums = self.rank, len(self.parts), self.sums[self.rank]
        self.runs += 1
        h = torch.empty(x.shape[0] // chunks, w1.shape[1], dtype=x.dtype, device=x.device)
        for c, part in enumerate(x.chunk(chunks)):
            product(part, w1, h, True, False)
            rows = h.chunk(ranks)
            for to in self.others:
                product(rows[to], w2, self.made[c, to], False, False)
                self.send(self.parts[to][rank, c], self.made[c, to], (self.flags[to], c * ranks + rank))
            mine, own = self.parts[rank], sums[c, rank]
            piece = tilec.cdiv(len(own), pieces)
            for at in range(0, len(own), piece):
                of = slice(at, at + piece)
                product(rows[rank][of], w2, mine[rank, c, of], False, False)
                n = own[of].numel()
                add_parts[(tilec.cdiv(n, 1024),)](mine[0, c, of], self.flags[rank][c * ranks:], own[of], n, mine[0].numel(), rank,
                                                 self.runs, RANKS=ranks, BLOCK=1024)
                for to in self.others:
                    self.send(self.sums[to][c, rank, of], own[of])
        torch.cuda.current_stream().wait_stream(self.beside)
        self.handles[0].barrier(channel=0)  # all sums have come, and what others may write over is read
        return sums.view(x.shape[0], w2.shape[1])


def whole_numbers(rows, columns, of, seed, device):
    """A matrix of 0, 1 and -1, few enough in a column for exact sums: every rank makes the same."""
    made = torch.Generator(device).manual_seed(seed)
    w = torch.zeros(rows, columns, dtype=torch.float16, device=device)
    for _ in range(of):
        at = torch.randint(rows, (1, columns), generator=made, device=device)
        sign = torch.randint(0, 2, (1, columns), generator=made, device=device)
        w.scatter_(0, at, sign.to(torch.float16) * 2 - 1)
    return w


def timed(runs, device):
    """The median of each, in ms, in turns: all find the GPU as warm. A run takes as long as the slowest rank."""
    times = [[] for _ in runs]
    for i in range(24):  # 4 to warm up
        for run, taken in zip(runs, times):
            torch.cuda.synchronize()
            dist.barrier()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            run()
            end.record()
            torch.cuda.synchronize()
            ms = torch.tensor(start.elapsed_time(end), device=device)
            dist.all_reduce(ms, op=dist.ReduceOp.MAX)
            taken += [ms.item()] * (i >= 4)
    return [sorted(taken)[len(taken) // 2] for taken in times]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    for name, value in ("tokens", 128), ("width", 64), ("hidden", 256), ("chunks", 4), ("pieces", 4):
        p.add_argument(f"--{name}", type=int, default=value, help=f"default: {value}")
    p.add_argument("--reduce", choices=("all_reduce", "peer"), default="all_reduce", help="who adds up: see above")
    p.add_argument("--bench", action="store_true", help="measure, after the check, on GPUs")
    opts = p.parse_args()
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if "RANK" not in os.environ:
        p.error("start it by torchrun --standalone --nproc-per-node=RANKS")
    if min(opts.tokens, opts.width, opts.hidden, opts.chunks, opts.pieces) < 1:
        p.error("sizes and numbers are at least 1")
    if opts.tokens % opts.chunks or opts.hidden % ranks:
        p.error(f"--tokens has to be a multiple of {opts.chunks} chunks, --hidden of {ranks} ranks")
    on_gpu = opts.device == "cuda" or (opts.device == "auto" and torch.cuda.device_count() >= ranks)
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    by_peers = opts.reduce == "peer"
    if by_peers and (not on_gpu or opts.tokens % (opts.chunks * ranks)):
        p.error(f"--reduce=peer is for GPUs, and for --tokens that are a multiple of {opts.chunks} chunks of {ranks} ranks")
    dist.init_process_group("nccl" if on_gpu else "gloo", device_id=device if on_gpu else None)

    x = whole_numbers(opts.width, opts.tokens, 16, 1, device).t().contiguous()
    whole = [whole_numbers(opts.width, opts.hidden, 8, 2, device), whole_numbers(opts.hidden, opts.width, 8, 3, device)]
    w1, w2 = (w.chunk(ranks, dim)[rank].contiguous() for w, dim in zip(whole, (1, 0)))

    peers = Peers(opts.tokens, opts.width, opts.chunks, rank, ranks, device) if by_peers and ranks > 1 else None

    def many():
        if peers:
            return peers.block(x, w1, w2, opts.chunks, opts.pieces)
        return block(x, w1, w2, opts.chunks, opts.pieces, ranks > 1)

    y = many()
    want = block(x, *whole, 1, 1, False) if rank == 0 else torch.empty_like(y)
    exact = rank != 0 or torch.equal(want.double(), (x.double() @ whole[0].double()).relu() @ whole[1].double())
    dist.broadcast(want, 0)
    wrong = torch.tensor([0 if exact and torch.equal(y.view(torch.int16), want.view(torch.int16)) else 1], device=device)
    dist.all_reduce(wrong)
    if rank == 0:
        verdict = f"WRONG on {wrong.item()} ranks" if wrong.item() else "the same as one"
        print(f"mlp.py, {ranks} ranks, {device.type}, {opts.reduce}, {opts.tokens}x{opts.width}x{opts.hidden}: {verdict}")
    if opts.bench and on_gpu:
        for matrix in x, w1, w2, *whole:  # what fills the GPU's units
            matrix.normal_()
        one, all_ = timed([lambda: rank or block(x, *whole, 1, 1, False), many], device)
        flops = 4 * opts.tokens * opts.width * opts.hidden
        if rank == 0:
            print(f"mlp.py: one {one:.3f} ms, {flops / one * 1e-9:.1f} TFLOPS; {ranks} ranks {all_:.3f} ms, "
                  f"{flops / all_ * 1e-9:.1f} TFLOPS; {one / all_ / ranks:.3f} of {ranks} times as fast")
    dist.destroy_process_group()
    sys.exit(wrong.item() != 0)


if __name__ == "__main__":
    main()

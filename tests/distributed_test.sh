#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# distributed_test.sh: the examples of many GPUs, with several ranks on the CPU device: the same as one
# rank's, bit for bit; and they notice when it is not. Exit code 77 where the build found no MPI.
# Usage: distributed_test.sh BUILD-FOLDER
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/.."
at=$build/examples/distributed
[ -x "$at/mlp" ] && command -v mpirun >/dev/null || exit 77
. tests/lib.sh
export OMPI_MCA_btl=self,vader OMPI_MCA_rmaps_base_oversubscribe=1 # no network is asked for
export TILEC_CACHE=$work/cache

# ranks N EXAMPLE [OPTION…]: at most a minute
device=cpu
ranks() { timeout 60 mpirun --oversubscribe --allow-run-as-root -n "$1" "$at/$2" --device=$device "${@:3}"; }
same() { # N EXAMPLE [OPTION…]
    ranks "$@" >"$work/out" 2>&1 && grep -q "^$2, $1 ranks.*: the same as one\$" "$work/out" ||
        { cat "$work/out"; return 1; }
}
says() { # CODE TEXT COMMAND…
    "${@:3}" >"$work/out" 2>&1
    [ $? -eq "$1" ] && grep -qF -e "$2" "$work/out" || { cat "$work/out"; return 1; }
}

for n in 1 2 3; do
    ok "mlp, $n ranks" same $n mlp --tokens=192 --hidden=192 --chunks=2
    ok "gather_matmul, $n ranks" same $n gather_matmul
    for mask in full causal; do
        ok "ring_attention, $n ranks, $mask" same $n ring_attention --mask=$mask
    done
done
ok 'mlp by MPI' same 2 mlp --reduce=mpi
ok 'a chunk for each few rows' same 2 mlp --chunks=16
for n in 2 3; do ok "gather_matmul by copies, $n ranks" same $n gather_matmul --gather=copy; done
ok 'odd sizes' same 2 gather_matmul --m=160 --n=32 --k=48
ok 'odd sizes by copies' same 3 gather_matmul --m=480 --n=48 --k=48 --gather=copy
ok 'a larger head' same 2 ring_attention --head=64 --heads=3 --tokens=32 --mask=causal
for together in 1 2 9; do ok "heads, $together together" same 3 ring_attention --heads=5 --together=$together; done
ok 'mlp, pieces that are not all as large' same 4 mlp --chunks=1 --tokens=96 --pieces=5
ok 'gather_matmul, 4 ranks' same 4 gather_matmul --m=768 --n=256
ok 'gather_matmul by copies, 4 ranks' same 4 gather_matmul --gather=copy --m=768 --n=64
ok 'ring_attention, 4 ranks' same 4 ring_attention --tokens=128
ok 'heads that share keys' same 3 ring_attention --heads=12 --kv-heads=4 --tokens=96 --mask=causal
for example in mlp gather_matmul ring_attention; do
    ok "$example measures" sh -c "timeout 60 mpirun --oversubscribe --allow-run-as-root -n 2 '$at/$example' \
        --device=cpu --bench | grep -E '^$example: one [0-9.]+ ms, .* of 2 times as fast\$'"
    ok "$example, its options" says 0 'where the examples'"'"' kernels are' ranks 2 $example --help
    ok "$example, an unknown option" says 2 "unknown option '--size=3'" ranks 2 $example --size=3
    ok "$example, a bad number" says 2 'a whole number from 1' ranks 2 $example --"$(
        case $example in mlp) echo width ;; gather_matmul) echo k ;; *) echo heads ;; esac)"=0
    ok "$example, no kernels there" says 5 'cannot read' ranks 2 $example --kernels="$work"
done
ok 'NCCL needs GPUs' says 2 'needs a GPU for each rank' ranks 2 mlp --reduce=nccl
ok 'sizes that do not fit' says 2 'multiple of' ranks 2 mlp --tokens=12
for config in BN=32 BM=0,BN=32 BM=0x10 BM=16,BN=32,BM=32 BM=4611686018427387904; do
    ok "no rows for a flag, $config" says 2 'BM=N, from 1 to 1024, is wanted' ranks 2 gather_matmul --config=$config --m=1024
done
for config in BM=16 BM=16,BN=-1; do
    ok "no columns of a tile, $config" says 2 'BN=N, from 1 to 1024, is wanted' ranks 2 gather_matmul --config=$config
done
ok 'rows that do not fit' says 2 'multiple of' ranks 2 gather_matmul --config=BM=96,BN=32 --m=256
ok 'heads that share keys unevenly' says 2 'a multiple of --kv-heads=4' ranks 2 ring_attention --heads=6 --kv-heads=4
ok 'more than 32 bits count' says 2 'a: 65536 times 65536 elements' ranks 2 gather_matmul --m=65536 --k=65536
ok 'more than 32 bits count, mlp' says 2 'W1 and W2: 65536 times 65536 elements' ranks 2 mlp --width=65536 --hidden=65536
ok 'too many tokens' says 2 'exact up to 65536' ranks 2 ring_attention --tokens=131072

# The PTX of a GPU, with the tile sizes of a GPU and with small ones: TMA, wgmma, flags of two processes.
for device in ptx:sm_80 ptx:sm_90a; do
    ok "mlp on $device" same 2 mlp --tokens=64 --hidden=64 --chunks=2
    ok "gather_matmul on $device" same 2 gather_matmul --m=64 --n=64
    ok "ring_attention on $device" same 2 ring_attention --tokens=64 --mask=causal
done
large=BM=128,BN=256,BK=64,GROUP_M=8,num_warps=8,num_stages=3
ok 'mlp as on an H100' same 2 mlp --config=$large --tokens=512 --width=256 --hidden=256 --chunks=1
ok 'gather_matmul as on an H100' same 2 gather_matmul --config=$large --m=512 --n=512 --k=128
ok 'gather_matmul by copies as on an H100' same 2 gather_matmul --config=$large --m=512 --n=512 --k=128 --gather=copy
ok 'ring_attention as on an H100' same 2 ring_attention --config=BM=128,BN=64,num_warps=8,num_stages=3 --tokens=256 \
    --head=128 --mask=causal
device=cpu

# With a mistake in a kernel of many ranks the result is not that of one, or the CPU device sees a race.
mistake() { # CODE TEXT EXAMPLE FILE SED-SCRIPT [OPTION…]
    rm -rf "$work/wrong"
    cp -r examples "$work/wrong"
    sed -i "$5" "$work/wrong/distributed/$4"
    ! cmp -s "examples/distributed/$4" "$work/wrong/distributed/$4" &&
        says "$1" "$2" ranks 2 "$3" --kernels="$work/wrong" "${@:6}"
}
wrong() { mistake 1 WRONG "$@"; }
race() { mistake 5 'error: race' "$@"; }
ok 'a part that is left out' wrong mlp all_reduce.tl 's/total += tl.load(parts + r/total = tl.load(parts + r/'
ok 'a tile of the wrong rank' wrong gather_matmul gather_matmul.tl 's/theirs = shards\[step - 1\]/theirs = a/'
ok 'a copy of the wrong rank' wrong gather_matmul gather_matmul.tl 's/offs_m\[:, None\] \* K/(offs_m % (M \/\/ RANKS))[:, None] * K/' --gather=copy
ok 'a step with its own keys again' wrong ring_attention ring_attention.tl 's/plane = (owner/plane = (rank/'
ok 'a row that sees too much' wrong ring_attention ring_attention.tl 's/tl.where(owner > rank, -1, 0)/0/' --mask=causal
ok 'a piece of a tile again' race gather_matmul gather_matmul.tl 's/piece \* WIDTH/piece \/\/ PIECES * WIDTH/'
ok 'a part that is not waited for' race gather_matmul gather_matmul.tl 's/in tl.static_range(PARTS)/in tl.static_range(PARTS - 1)/'
ok 'rows that are not waited for' wrong gather_matmul gather_matmul.tl 's/if pid_m \/\/ tiles != rank:/if pid_m < 0:/' --gather=copy
ok 'keys that are not waited for' wrong ring_attention ring_attention.tl 's/if step > 0:/if step > RANKS:/'
ok 'parts that are not waited for' wrong mlp all_reduce.tl 's/if r != rank:/if r > RANKS:/'
ok 'wrong on another rank' wrong ring_attention ring_attention.tl 's/^    tl.store(out_ptr/    acc = tl.where(rank == 1, acc * 2, acc)\n&/'
ok 'a step too few' wrong ring_attention ring_attention.tl 's/tl.range(RANKS,/tl.range(RANKS \/\/ 2,/'

# From Python, where there is PyTorch; without it the example says so.
if [ -d "$build/python" ]; then
    if python3 -c 'import torch' 2>/dev/null; then
        ok 'mlp.py' sh -c "PYTHONPATH='$build/python' timeout 120 python3 -m torch.distributed.run --standalone \
            --nproc-per-node=2 examples/distributed/mlp.py --device=cpu | grep -x 'mlp.py, 2 ranks, cpu, all_reduce, .*: the same as one'"
        ok 'mlp.py, copies without GPUs' says 1 'peer is for GPUs' env PYTHONPATH="$build/python" timeout 120 python3 -m \
            torch.distributed.run --standalone --nproc-per-node=2 examples/distributed/mlp.py --device=cpu --reduce=peer
    else
        skip
        ok 'mlp.py without PyTorch' says 77 'PyTorch is not installed' \
            env PYTHONPATH="$build/python" python3 examples/distributed/mlp.py
    fi
fi

finish

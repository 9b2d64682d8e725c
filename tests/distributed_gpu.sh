#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/distributed_gpu.sh [STAGE [OUT [RANKS]]]: everything that needs several GPUs, in one go of some
# minutes, from what scripts/stage collected (default: stage), with a rank for each of RANKS GPUs (2).
# The log and the table go to OUT (default: the working directory); the table, a line for each step,
# comes last. Exit code 5 when a step failed. Wanted are mpirun of Open MPI 4 and its library, and for
# some steps NCCL, and PyTorch and WHEEL=, what scripts/wheel made; SIZE=8192 is that of the bench; ONLY= is a
# regular expression of the names of the steps that are wanted.
set -u
stage=$(realpath "${1:-stage}")
out=$(realpath "${2:-.}")
n=${3:-2}
size=${SIZE:-8192}
cd "$stage" || exit 2
log=$out/distributed.log
table=$out/distributed.txt
: >"$log"
: >"$table"
status=0
mpirun=$(command -v mpirun || ls /opt/*/openmpi*/bin/mpirun /usr/local/mpi/bin/mpirun 2>/dev/null | head -1)
[ -n "$mpirun" ] || { echo "distributed_gpu: there is no mpirun (Open MPI)" >&2; exit 77; }
mpi=$(dirname "$(dirname "$(realpath "$mpirun")")")
export LD_LIBRARY_PATH=$stage/lib:$mpi/lib:$mpi/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMPI_MCA_btl=self,vader OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_pml=ob1

# What mpirun says of a program that failed, besides that.
noise='^ *$|^-----|^mpirun |^Primary job|^a non-zero|^the job to|^ *(Process name|Exit code)|^MPI_ABORT|^with errorcode|^NOTE|^You may|^exactly when|^\[.*(help message|orte_base)'

# step SECONDS NAME COMMAND…: what a bench measured, or its last line; the whole in the log
step() {
    local limit=$1 name=$2 rc verdict started=$SECONDS said
    shift 2
    [[ $name =~ ${ONLY:-} ]] || return 0
    printf '\n==== %s: %s\n' "$name" "$*" >>"$log"
    said=$(timeout "$limit" "$@" 2>&1)
    rc=$?
    printf '%s\n' "$said" >>"$log"
    case $rc in
    0) verdict=ok ;;
    77) verdict=skipped ;;
    124) verdict="TIME OVER" status=5 ;;
    *) verdict="FAILED ($rc)" status=5 ;;
    esac
    printf '%-44s %-12s %4ds  %s\n' "$name" "$verdict" $((SECONDS - started)) \
        "$(grep -E 'times as fast|WRONG' <<<"$said" || grep -vE "$noise" <<<"$said" | tail -1)" | tee -a "$table"
    [ "$rc" -eq 0 ] || [ "$rc" -eq 77 ] || grep -vE "$noise" <<<"$said" | head -30
}

# The programs as they were staged; where this machine's MPI is another one, built with its mpicc.
at=$stage/examples/distributed
if ldd "$at/mlp" | grep -q 'not found' || ! "$at/mlp" --help >/dev/null 2>&1; then
    at=$out/distributed-built
    mkdir -p "$at"
    for example in mlp gather_matmul ring_attention; do
        "$mpi/bin/mpicc" -std=gnu11 -O2 -Iinclude examples/distributed/{$example,ranks,nccl}.c -Llib -ltile_compiler \
            -ltile_runtime -Wl,-rpath,"$stage/lib" -ldl -lm -o "$at/$example" >>"$log" 2>&1 ||
            { echo "distributed_gpu: $example does not start here, and mpicc does not build it: see $log" >&2; exit 2; }
    done
fi
# ranks EXAMPLE [OPTION…]
ranks() { "$mpirun" --allow-run-as-root -n "$n" "$at/$1" --device=cuda "${@:2}"; }
export -f ranks
export mpirun n at
r() { step "$1" "$2" bash -c 'ranks "$@"' ranks "${@:3}"; }

nvidia-smi topo -m >>"$log" 2>&1
step 120 'two GPUs, and two processes' bin/tile-peers-gpu
for reduce in peer nccl mpi; do r 120 "mlp, $reduce" mlp --tokens=1024 --width=512 --hidden=2048 --reduce=$reduce; done
r 120 'mlp, 16 chunks' mlp --tokens=4096 --width=1024 --hidden=4096 --chunks=16
for fetch in 1 8 64; do r 120 "gather_matmul, $fetch fetch" gather_matmul --m=2048 --n=1024 --k=1024 --fetch=$fetch; done
r 120 "gather_matmul, copies" gather_matmul --m=2048 --n=1024 --k=1024 --gather=copy
for mask in full causal; do
    for head in 64 128; do
        r 120 "ring_attention, $mask, $head" ring_attention --tokens=2048 --heads=4 --head=$head --mask=$mask
    done
done

# ---- how fast: the aim is 0.9 of RANKS times one GPU ----
for chunks in 1 2 4; do
    r 300 "bench mlp, peer, $chunks chunks" mlp --tokens=$size --width=$size --hidden=$((4 * size)) --chunks=$chunks --bench
done
for chunks in 2 4 8; do
    r 300 "bench mlp, nccl, $chunks chunks" mlp --tokens=$size --width=$size --hidden=$((4 * size)) --chunks=$chunks --pieces=1 \
        --reduce=nccl --bench
done
for fetch in $((4 * (n - 1))) $((4 * n)); do
    r 300 "bench gather_matmul, $fetch fetch" gather_matmul --m=$size --n=$size --k=$size --fetch=$fetch --bench
done
r 300 "bench gather_matmul, copies" gather_matmul --m=$size --n=$size --k=$size --gather=copy --bench
for mask in full causal; do
    r 300 "bench ring_attention, $mask" ring_attention --tokens=$size --heads=32 --head=128 --mask=$mask --together=$(((n + 1) / 2)) \
        --bench
    r 300 "bench ring_attention, $mask, 8" ring_attention --tokens=$size --heads=32 --kv-heads=8 --head=128 --mask=$mask --bench
    r 300 "bench ring_attention, $mask, long" ring_attention --tokens=$((4 * size)) --heads=16 --head=128 --mask=$mask --bench
done

# ---- the same from Python: PyTorch is this machine's, tilec the wheel's ----
[ -z "${WHEEL:-}" ] || python3 -m zipfile -e "$WHEEL" "$out/distributed-python"
export PYTHONPATH=$out/distributed-python${PYTHONPATH:+:$PYTHONPATH}
python_ranks() {
    python3 -c 'import torch, tilec' || return 77
    python3 -m torch.distributed.run --standalone --nproc-per-node="$n" examples/distributed/mlp.py --device=cuda "$@"
}
export -f python_ranks
step 120 'mlp.py' bash -c python_ranks
step 120 'mlp.py, peer' bash -c 'python_ranks --reduce=peer --pieces=3'
for how in 'all_reduce --chunks=2 --pieces=1' 'all_reduce --chunks=1 --pieces=8' 'peer --chunks=1 --pieces=4'; do
    step 300 "bench mlp.py, $how" bash -c 'python_ranks "$@"' python_ranks --tokens=$size --width=$size --hidden=$((4 * size)) \
        --reduce=$how --bench
done
echo
cat "$table"
exit $status

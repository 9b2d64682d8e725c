#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cuda_h_test.sh: what runtime/cuda_api.* says of the driver's ABI, held against the toolkit's cuda.h
# where there is one: the symbols behind its macros, numbers, layouts, every error. Exit code 77 without.
set -u
cd "$(dirname "$0")/../.."
header=
for folder in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/cuda*/include /usr/include; do
    grep -qs cuLaunchKernelEx "$folder/cuda.h" && header=$folder && break
done
[ -n "$header" ] || exit 77
. tests/lib.sh

# same NAME: $work/ours and $work/theirs agree
same() {
    if diff "$work/ours" "$work/theirs" >"$work/diff"; then
        pass
    else
        fail "$1" "$work/diff"
    fi
}

# A macro of cuda.h, written out, is the symbol that the library exports; but for one whose v2 came
# with CUDA 12.8 and has the same ABI: older drivers have to do.
symbols=$(sed -nE 's/^(FN|OPTIONAL|POOL|GRAPH|CALLED)\("([A-Za-z_0-9]+)".*/\2/p' runtime/cuda_api.def |
    grep -vx cuEventElapsedTime)
for s in $symbols; do echo "$s"; done >"$work/ours"
{
    echo '#include "cuda.h"'
    for s in $symbols; do echo "@ ${s%_v[0-9]}"; done
} | gcc -E -x c -I"$header" - | sed -n 's/^@ //p' >"$work/theirs"
same 'symbols'

# Errors, in order; a toolkit may know fewer or more.
grep -oE '\bCUDA_ERROR_[A-Z0-9_]+ += [0-9]+' "$header/cuda.h" | tr -d = | tr -s ' ' | sort -u >"$work/all"
sed -nE 's/^ERR\(([0-9]+), "([A-Z_0-9]+)".*/\2 \1/p' runtime/cuda_errors.def | sort -u >"$work/rows"
join "$work/all" "$work/rows" -o 1.1,1.2 | sort -u >"$work/theirs"
join "$work/all" "$work/rows" -o 2.1,2.2 | sort -u >"$work/ours"
same 'numbers of errors'
cut -d' ' -f1 "$work/all" >"$work/theirs"
cut -d' ' -f1 "$work/rows" | comm -12 - "$work/theirs" >"$work/ours"
same 'errors that have no row'

# Numbers and layouts.
cat >"$work/ours.c" <<'END'
#include "runtime/cuda_api.h"
#define SHOW(ours, theirs) ours
#define CONFIG CuLaunchConfig
#define ATTRIBUTE CuLaunchAttribute
#define NODE CuKernelNode
#define VALUE CuStreamAttribute
#define MEMBER(ours, theirs) ours
END
cat >"$work/theirs.c" <<'END'
#include <cuda.h>
#define SHOW(ours, theirs) theirs
#define CONFIG CUlaunchConfig
#define ATTRIBUTE CUlaunchAttribute
#define NODE CUDA_KERNEL_NODE_PARAMS
#define VALUE CUstreamAttrValue
#define MEMBER(ours, theirs) theirs
END
cat >"$work/show.c" <<'END'
#include <stddef.h>
#include <stdio.h>
int main(void) {
    printf("%zu %zu\n", sizeof(CONFIG), sizeof(ATTRIBUTE));
    printf("%zu %zu %zu\n", offsetof(CONFIG, MEMBER(block, blockDimX)),
           offsetof(CONFIG, MEMBER(shared_bytes, sharedMemBytes)),
           offsetof(CONFIG, MEMBER(stream, hStream)));
    printf("%zu %zu %zu\n", offsetof(CONFIG, MEMBER(attribute, attrs)),
           offsetof(CONFIG, MEMBER(nattributes, numAttrs)), offsetof(ATTRIBUTE, value));
    printf("%zu %zu %zu %zu %zu %zu %zu\n", sizeof(NODE), offsetof(NODE, MEMBER(grid, gridDimX)),
           offsetof(NODE, MEMBER(block, blockDimX)),
           offsetof(NODE, MEMBER(shared_bytes, sharedMemBytes)),
           offsetof(NODE, MEMBER(params, kernelParams)), offsetof(NODE, MEMBER(kernel, kern)),
           offsetof(NODE, MEMBER(context, ctx)));
    printf("%zu %zu %zu\n", sizeof(VALUE),
           offsetof(VALUE, MEMBER(access_policy.bytes, accessPolicyWindow.num_bytes)),
           offsetof(VALUE, MEMBER(sync_domain, memSyncDomain)));
    printf("%zu %zu\n", offsetof(VALUE, MEMBER(sync_domains[0], memSyncDomainMap.default_)),
           offsetof(VALUE, MEMBER(sync_domains[1], memSyncDomainMap.remote)));
    printf("%zu\n", offsetof(ATTRIBUTE, MEMBER(value.cluster[2], value.clusterDim.z)));
    const int numbers[] = {
        SHOW(CU_DEVICE_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        SHOW(CU_DEVICE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        SHOW(CU_DEVICE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        SHOW(CU_DEVICE_COOPERATIVE_LAUNCH, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH),
        SHOW(CU_DEVICE_MAX_SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        SHOW(CU_DEVICE_CLUSTER_LAUNCH, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH),
        SHOW(CU_FUNC_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        SHOW(CU_FUNC_LOCAL_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        SHOW(CU_FUNC_NUM_REGS, CU_FUNC_ATTRIBUTE_NUM_REGS),
        SHOW(CU_FUNC_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
        SHOW(CU_FUNC_LARGE_CLUSTERS, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
        SHOW(CU_LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE),
        SHOW(CU_LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION),
        SHOW(CU_LAUNCH_EARLY, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION),
        SHOW(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER),
        SHOW(CU_JIT_ERROR_LOG_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES),
        SHOW(CU_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY),
        SHOW(CU_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE),
        SHOW(CU_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
        SHOW(CU_ERROR_NOT_FOUND, CUDA_ERROR_NOT_FOUND),
        SHOW(CU_ERROR_NOT_READY, CUDA_ERROR_NOT_READY),
        SHOW(CU_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT),
        SHOW(CU_ERROR_PEER_UNSUPPORTED, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED),
        SHOW(CU_ERROR_PEER_ENABLED, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED),
        SHOW(CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING),
        SHOW(CU_STREAM_ACCESS_POLICY, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW),
        SHOW(CU_STREAM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP),
        SHOW(CU_STREAM_SYNC_DOMAIN, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN),
        SHOW(CU_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING),
        SHOW(CU_CAPTURE_NONE, CU_STREAM_CAPTURE_STATUS_NONE),
        SHOW(CU_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED),
        SHOW(CU_IPC_LAZY_PEERS, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
        SHOW((int)sizeof(CuIpcHandle), (int)sizeof(CUipcMemHandle))};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) printf("%d\n", numbers[i]);
    return 0;
}
END
for side in ours theirs; do
    cat "$work/show.c" >>"$work/$side.c"
    gcc -I. -I"$header" "$work/$side.c" -o "$work/$side.exe" && "$work/$side.exe" >"$work/$side"
done
[ -s "$work/ours" ] || echo 'nothing shown' >"$work/ours"
same 'numbers and layouts'

finish

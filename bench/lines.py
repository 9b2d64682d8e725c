# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lines.py: what rows that begin within a line of memory cost the copy engine, by how far in they begin.

    python3 bench/lines.py

Each multiprocessor brings 256 rows of 128 bytes a turn out of L2, in two boxes, four turns ahead, and does nothing
else. Prints cycles of a turn, of 64, with one multiprocessor at work, with half of them and with all: a pair of
multiprocessors shares its way to L2. Needs ptxas and a GPU with a copy engine (sm_90a)."""
import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

import entries
from kernels import Driver, LaunchConfig, find_ptxas

TURNS, STAGES, ROWS, GROUPS, BOX = 64, 4, 128, 4, 128 * 128
KERNEL = f"""
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 blocks[];
.visible .entry lines(.param .align 64 .b8 map[128], .param .b64 out)
.maxntid 32, 1, 1
{{
    .shared .align 8 .b64 full[{STAGES}];
    .reg .pred p;
    .reg .b32 i, n, stage, at, bar, row, column;
    .reg .b64 tensor, begin, end, to;
    mov.u32 n, %tid.x;
    setp.ne.u32 p, n, 0;
    @p bra done;
    mov.b64 tensor, map;
    cvta.param.u64 tensor, tensor;
    mov.u32 stage, 0;
init:
    mov.u32 bar, full;
    mad.lo.u32 bar, stage, 8, bar;
    mbarrier.init.shared.b64 [bar], 1;
    add.u32 stage, stage, 1;
    setp.lt.u32 p, stage, {STAGES};
    @p bra init;
    fence.mbarrier_init.release.cluster;
    mov.u32 row, %ctaid.x;
    rem.u32 row, row, {GROUPS};
    mul.lo.u32 row, row, {2 * ROWS};
    mov.u32 i, 0;
    mov.u64 begin, %clock64;
turn:
    rem.u32 stage, i, {STAGES};
    mov.u32 bar, full;
    mad.lo.u32 bar, stage, 8, bar;
    setp.lt.u32 p, i, {STAGES};
    @p bra bring;
    div.u32 n, i, {STAGES};
    add.u32 n, n, 1;
    and.b32 n, n, 1;
wait:
    mbarrier.try_wait.parity.shared.b64 p, [bar], n;
    @!p bra wait;
bring:
    setp.ge.u32 p, i, {TURNS};
    @p bra next;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], {2 * BOX};
    mov.u32 at, blocks;
    mad.lo.u32 at, stage, {2 * BOX}, at;
    mul.lo.u32 column, i, 64;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [at], [tensor, {{column, row}}], [bar];
    add.u32 at, at, {BOX};
    add.u32 n, row, {ROWS};
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [at], [tensor, {{column, n}}], [bar];
next:
    add.u32 i, i, 1;
    setp.lt.u32 p, i, {TURNS + STAGES};
    @p bra turn;
    mov.u64 end, %clock64;
    sub.u64 end, end, begin;
    ld.param.b64 to, [out];
    mov.u32 n, %ctaid.x;
    mad.wide.u32 to, n, 8, to;
    st.global.b64 [to], end;
done:
    ret;
}}
"""


def load(driver):
    with tempfile.TemporaryDirectory() as folder:
        source, code = Path(folder, "lines.ptx"), Path(folder, "lines.cubin")
        source.write_text(KERNEL)
        subprocess.run([find_ptxas(), "-arch=sm_90a", source, "-o", code], check=True)
        image = code.read_bytes()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver.check(driver.lib.cuModuleLoadData(ctypes.byref(module), image), "load")
    driver.check(driver.lib.cuModuleGetFunction(ctypes.byref(function), module, b"lines"), "find lines")
    driver.check(driver.lib.cuFuncSetAttribute(function, driver.MAX_DYNAMIC_SHARED, STAGES * 2 * BOX), "shared memory")
    return function


def cycles(driver, function, stride, programs):
    """Of a turn, in the middle one of so many programs; the best of six launches."""
    tensor = torch.zeros(GROUPS * 2 * ROWS * stride // 2, dtype=torch.float16, device="cuda")
    out = torch.zeros(programs, dtype=torch.int64, device="cuda")
    at, room = entries.tensor_map(driver.lib, {"tensor": tensor}, {
        "type": "fp16", "base": "tensor", "offset": "0", "sizes": [str(GROUPS * 2 * ROWS), str(TURNS * 64)],
        "strides": [str(stride // 2), "1"], "box": [ROWS, 64], "swizzle": 128})
    address = ctypes.c_uint64(out.data_ptr())
    params = (ctypes.c_void_p * 2)(at, ctypes.addressof(address))
    config = LaunchConfig((programs, 1, 1), (32, 1, 1), STAGES * 2 * BOX, torch.cuda.current_stream().cuda_stream, None, 0)
    best = []
    for _ in range(6):
        driver.check(driver.lib.cuLaunchKernelEx(ctypes.byref(config), function, params, None), "launch")
        best.append(int(out.median()))
    del room
    return min(best) / TURNS


def main():
    torch.zeros(1, device="cuda")
    driver, all_ = Driver(), torch.cuda.get_device_properties(0).multi_processor_count
    function = load(driver)
    counts = (1, all_ // 2, all_)
    print(f"{torch.cuda.get_device_name()}: cycles to bring {2 * ROWS} rows of 128 bytes")
    print(f"{'rows begin, within a line':<34}" + "".join(f"{n:>8} SMs" for n in counts))
    for into in (0, 64, 32, 96, 16, 48, 80, 112):
        stride = TURNS * 128 + into
        name = "at its begin" if not into else f"at multiples of {into} bytes"
        print(f"{name:<34}" + "".join(f"{cycles(driver, function, stride, n):12.0f}" for n in counts))


main()

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* peer_kernels.h: kernels that use other contexts' memory, for the suites on the CPU device and for
 * tile-peers-gpu. */
#ifndef TILE_TESTS_PEER_KERNELS_H
#define TILE_TESTS_PEER_KERNELS_H

enum { PEER_N = 64 };

/* `copy`: to = from. `gather`: out = the rows that a table of addresses points to. `count`: adds 1
 * to a counter in every lane. `exchange`: says `mine`, then waits for `theirs` and reads what was
 * written before it. */
static const char peer_source[] =
    "import triton\n"
    "import triton.language as tl\n"
    "@triton.jit\n"
    "def copy(to: '*i32', at: '*i32', n: 'i32'):\n"
    "    i = tl.arange(0, 64)\n"
    "    tl.store(to + i, tl.load(at + i, mask=i < n), mask=i < n)\n"
    "@triton.jit\n"
    "def gather(table: '*i64', out: '*i32', ranks: 'i32'):\n"
    "    i = tl.arange(0, 64)\n"
    "    for r in range(ranks):\n"
    "        row = tl.load(table + r).to(tl.pointer_type(tl.int32))\n"
    "        tl.store(out + r * 64 + i, tl.load(row + i))\n"
    "@triton.jit\n"
    "def count(at: '*i32'):\n"
    "    i = tl.arange(0, 64)\n"
    "    for n in range(32):\n"
    "        tl.atomic_add(at + i * 0, 1, sem='relaxed', scope='sys')\n"
    "@triton.jit\n"
    "def exchange(mine: '*i32', theirs: '*i32', sent: '*i32', got: '*i32', out: '*i32',\n"
    "             rounds: 'i32', VOLATILE: tl.constexpr = False):\n"
    "    i = tl.arange(0, 64)\n"
    "    for n in range(1, rounds + 1):\n"
    "        tl.store(sent + (n % 2) * 64 + i, n * 100 + i)\n"
    "        tl.debug_barrier()\n"
    "        tl.atomic_xchg(mine, n, sem='release', scope='sys')\n"
    "        if VOLATILE:\n"
    "            while tl.load(theirs, volatile=True) < n:\n"
    "                pass\n"
    "        while tl.atomic_add(theirs, 0, sem='acquire', scope='sys') < n:\n"
    "            pass\n"
    "        tl.debug_barrier()\n"
    "        tl.store(out + i, tl.load(got + (n % 2) * 64 + i))\n";

#endif

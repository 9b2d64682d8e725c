#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# modules_test.sh: which files tilec reads for imports, and which it does not; the rule of -MD; limits.
# What imports mean is in tests/modules/, a package with every form of them. Usage: modules_test.sh BIN-FOLDER
set -u
bin=$(realpath "$1")
tree=$(realpath "$(dirname "$0")/..")
. "$tree/tests/lib.sh"
cd "$work" && mkdir box && cd box || exit 1
export LC_ALL=C

kernel() { # kernel IMPORT…: a kernel behind these lines, whose result is f(x)
    printf '%s\n' 'import triton' 'import triton.language as tl' "$@" '@triton.jit' \
        'def kernel(p: "*fp32"):' '    tl.store(p, f(tl.load(p)))'
}
helper() { printf '%s\n' 'import triton' "$@" '@triton.jit' 'def f(x):' '    return x + 1'; }
# says CODE PATTERN COMMAND…
says() {
    local rc
    "${@:3}" >"$work/log" 2>&1
    rc=$?
    if [ "$rc" -ne "$1" ]; then
        fail "exit code $rc, expected $1: ${*:3}" "$work/log"
    elif ! grep -qE -- "$2" "$work/log"; then
        fail "does not say /$2/: ${*:3}" "$work/log"
    else
        pass
    fi
}
tilec="$bin/tilec -Wno-perf"

# ---- where modules are looked for ----
mkdir -p top/pkg/sub far/lib
touch top/pkg/__init__.py top/pkg/sub/__init__.py
helper >top/pkg/one.py
helper >far/two.py
helper 'assert False' >far/lib/__init__.py
kernel 'from ..one import f' >top/pkg/sub/k.py
ok 'relative, from another folder' $tilec -o k.ptx top/pkg/sub/k.py
(cd top/pkg/sub && ok 'relative, from its own folder' $tilec -o k.ptx k.py && rm -f k.ptx)
ok 'relative, by an absolute path' $tilec -o k.ptx "$PWD/top/pkg/sub/k.py"
kernel 'from pkg.one import f' >top/pkg/sub/k.py
ok 'absolute, from the root of its own package' $tilec -o k.ptx top/pkg/sub/k.py
(cd top/pkg/sub && ok 'the root is above the current folder' $tilec -o k.ptx k.py && rm -f k.ptx)
kernel 'from two import f' >top/pkg/sub/k.py
says 1 "'f' comes from module 'two', which is not found" $tilec -o k.ptx top/pkg/sub/k.py
says 1 "it was looked for in 'top' and 'elsewhere'; -I DIR adds a folder" $tilec -o k.ptx -I elsewhere top/pkg/sub/k.py
ok '-I' $tilec -o k.ptx -I far top/pkg/sub/k.py
ok '-I of several, the first that has it' $tilec -o k.ptx -I nowhere -Ifar/ top/pkg/sub/k.py
kernel 'import lib' 'f = lib.f' >k.py
ok 'a package' $tilec -o k.ptx -I far k.py
kernel 'import two.inner' 'f = two.inner.f' >k.py
says 1 "'two.inner'|module 'two' has no 'inner'|not found" $tilec -o k.ptx -I far k.py
# Of what is always there nothing is read but the helpers that PyTorch's compiler writes calls of.
mkdir -p site/torch/_inductor/runtime site/numpy
touch site/torch/__init__.py site/torch/_inductor/__init__.py site/torch/_inductor/runtime/__init__.py
helper 'import triton.language as tl' 'libdevice = tl.extra.libdevice' >site/torch/_inductor/runtime/triton_helpers.py
helper >site/numpy/own.py
kernel 'from torch._inductor.runtime import triton_helpers, triton_heuristics' \
    'from torch._inductor.runtime.triton_helpers import libdevice' 'triton_helpers.set_driver_to_gpu()' \
    'f = triton_helpers.f' >k.py
ok "helpers of PyTorch's compiler" $tilec -o k.ptx -I site k.py
kernel 'from torch._inductor.runtime.triton_helpers import f' >k.py
says 1 "'f' comes from module 'torch._inductor.runtime.triton_helpers', which is not found" $tilec -o k.ptx k.py
kernel 'try:' '    from torch._inductor.runtime.triton_helpers import f' 'except ImportError:' '    f = tl.exp' >k.py
ok 'in a try, there' $tilec -o k.ptx -I site k.py
says 1 "which 'f' is meant is not known while compiling" $tilec -o k.ptx k.py
kernel 'from numpy.own import f' >k.py
says 1 "'f' comes from module 'numpy.own'" $tilec -o k.ptx -I site k.py
kernel 'from .two import f' >far/k.py
ok 'relative to a folder that is no package' $tilec -o k.ptx far/k.py
kernel 'from ..two import f' >far/k.py
says 1 'above the root of its package' $tilec -o k.ptx far/k.py
kernel 'from two import f' >k.py
says 1 'which is not found' sh -c "$tilec -o k.ptx - <k.py"
ok 'standard input has -I' sh -c "$tilec -o k.ptx -I far - <k.py"
kernel 'from .two import f' >k.py
says 1 "comes from module '.two', which is not read" sh -c "$tilec -o k.ptx -I far - <k.py"
rm -f k.ptx

# ---- versions of Triton: a module has its own, else the first file's ----
printf '%s\n' '# tile: triton = 3.6' 'import triton' '@triton.jit' 'def f(x):' '    return -x' >old.py
sed 1d old.py >none.py
kernel 'from old import f' >k.py
says 0 '= sub %' $tilec --emit=tir -o - k.py
says 0 '= neg %' $tilec --emit=tir -o - --triton=3.9 k.py
kernel 'from none import f' >k.py
says 0 '= neg %' $tilec --emit=tir -o - k.py
kernel 'from none import f' '# tile: triton = 3.6' '' >k.py
says 0 '= sub %' $tilec --emit=tir -o - k.py
kernel 'from old import f' '# tile: triton = 3.9' '' >k.py
says 0 '= sub %' $tilec --emit=tir -o - k.py
sed -i 's/3.6/4.2/' old.py
says 1 "old.py:1:3: error: the version of Triton is 3.6, 3.7, 3.8 or 3.9, not '4.2'" $tilec --emit=tir -o - k.py
says 1 "'old' is imported here" $tilec --emit=tir -o - k.py
kernel 'def f(x): return -x' >k.py
sed -i 's/^def f/@triton.jit\ndef f/' k.py
{ printf '\xEF\xBB\xBF# tile: triton = 3.6\r\n' && sed 's/$/\r/' k.py; } >old.py
says 0 '= neg %' $tilec --emit=tir -o - k.py
says 0 '= sub %' $tilec --emit=tir -o - old.py
rm old.py none.py

# ---- what is no module ----
kernel 'from odd import f' >k.py
mkdir odd.py
says 1 'which is not found' $tilec -o k.ptx k.py
rmdir odd.py
mkfifo odd.py # opening one would wait for ever
says 1 'which is not found' timeout 20 $tilec -o k.ptx k.py
rm odd.py
ln -s far/two.py odd.py
ok 'a symbolic link' $tilec -o k.ptx k.py
rm odd.py
ln -s odd.py odd.py
says 1 "cannot be read|which is not found" $tilec -o k.ptx k.py
rm odd.py
printf '\xff\xfe' >odd.py
says 1 'not UTF-8' $tilec -o k.ptx k.py
printf 'import triton\0' >odd.py
says 1 'NUL byte' $tilec -o k.ptx k.py
head -c 9000000 /dev/zero | tr '\0' '\n' >odd.py
says 1 "'odd.py' cannot be read, or is larger than 8 MB" $tilec -o k.ptx k.py
if [ "$(id -u)" -ne 0 ]; then
    helper >odd.py
    chmod 0 odd.py
    says 1 "'odd.py' cannot be read" $tilec -o k.ptx k.py
else
    skip
fi
rm -f odd.py

# ---- limits ----
mkdir many
for i in $(seq 0 2001); do echo "import triton # $i" >many/m$i.py; done
{ for i in $(seq 0 2001); do echo "from many.m$i import *"; done; kernel; } >k.py
says 1 'more than 2000 modules are read' $tilec -o k.ptx k.py
for i in $(seq 0 9); do { echo 'import triton'; printf '# '; head -c 7900000 /dev/zero | tr '\0' '-'; } >many/m$i.py; done
{ for i in $(seq 0 9); do echo "from many.m$i import *"; done; kernel; } >k.py
says 1 'the modules have more than 64 MB' $tilec -o k.ptx k.py
rm -rf many
mkdir chain
for i in $(seq 0 70); do echo "from chain.m$((i + 1)) import f" >chain/m$i.py; done
helper >chain/m71.py
kernel 'from chain.m0 import f' >k.py
says 1 "'f' is handed on by more than 64 modules" $tilec -o k.ptx k.py
kernel 'from chain.m20 import f' >k.py
ok 'a long chain' $tilec -o k.ptx k.py
kernel "import $(printf 'a.%.0s' $(seq 600))a as b" 'f = b.f' >k.py
says 1 'not found|not known' $tilec -o k.ptx k.py
rm -rf chain k.ptx

# ---- nothing else is opened ----
if ldd "$bin/tilec" | grep -qE 'lib(a|t|ub)san'; then
    skip # a sanitizer's library must be loaded first
elif ${CC:-cc} -shared -fPIC -o "$work/opened.so" "$tree/tests/modules/opened.c" -ldl 2>"$work/log"; then
    mkdir -p secret && helper >secret/two.py && helper >two.py && rm -f two.py
    kernel 'import os, sys, numpy, torch' 'from two import f' 'open("secret/two.py")' \
        'exec(open("secret/two.py").read())' >k.py
    env OPENED="$work/opened" LD_PRELOAD="$work/opened.so" $tilec -o k.ptx -I far k.py >"$work/log" 2>&1
    count $? 'with the files it opens' "$work/log"
    grep -vE '^(/lib|/usr/lib|/etc/ld|/proc|/sys|/dev)|[.]gcda$' "$work/opened" | grep -v "^$work/box/k.ptx" |
        sed 's/^\.*k\.ptx.*/k.ptx/' | sort -u >"$work/seen"
    printf '%s\n' __init__.py far/two.py far/two/__init__.py k.ptx k.py two.py two.tl two/__init__.py | sort >"$work/want"
    if cmp -s "$work/seen" "$work/want"; then pass; else
        diff "$work/want" "$work/seen" >"$work/log"
        fail 'other files than those of the search path were looked at' "$work/log"
    fi
else
    fail 'opened.c does not compile' "$work/log"
fi

# ---- the rule for make ----
rule() { # rule TEXT FILE
    if [ "$(cat "$2" 2>&1)" = "$1" ]; then pass; else fail "not the rule: $2" "$2"; fi
}
kernel 'from two import f' >k.py
ok '-MD' $tilec -MD -o out.ptx -I far k.py
rule $'out.ptx: k.py \\\n  far/two.py' out.d
ok '-MF' $tilec -MF rule.mk -o out.ptx -I far k.py
rule $'out.ptx: k.py \\\n  far/two.py' rule.mk
ok 'of a header, once for all its variants' $tilec -MD --emit=header --embed=ptx --target=sm_80,sm_90a -o out.h -I far k.py
rule $'out.h: k.py \\\n  far/two.py' out.d
mkdir 'a $b#' && helper >'a $b#/two.py'
ok 'names that make would read otherwise' $tilec -MD -o out.ptx -I 'a $b#' k.py
rule $'out.ptx: k.py \\\n  a\\ $$b\\#/two.py' out.d
printf 'all: out.ptx\ninclude out.d\nout.ptx:\n\t@echo made; cp k.py out.ptx\n' >Makefile
if command -v make >/dev/null; then
    says 0 "up to date|Nothing to be done" make
    touch -d '+1 minute' 'a $b#/two.py'
    says 0 '^made' make
else
    skip
fi
says 2 '-MD writes beside the output, which is a stream: use -MF' $tilec -MD -o - -I far k.py
says 2 '-MF takes one input' $tilec -MF x.d k.py far/k.py
says 2 "the rule would replace 'k.py'" $tilec -MF k.py -o out.ptx -I far k.py
rm -f out.ptx out.d
kernel 'from two import g as f' >bad.py
says 1 "module 'two' has no 'g'" $tilec -MD -o out.ptx -I far bad.py
if [ -e out.d ] || [ -e out.ptx ]; then fail 'an output is left after an error'; else pass; fi
finish

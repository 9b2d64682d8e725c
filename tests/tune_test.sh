#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tune_test.sh: tuning from the command line, on the CPU device: what is measured and kept, what a run and
# tilec make of it, failures, interruptions, many processes on one file. Usage: tune_test.sh BIN-FOLDER
set -u
bin=$(realpath "$1")
tree=$(realpath "$(dirname "$0")/..")
. "$tree/tests/lib.sh"
cd "$work"
export LC_ALL=C
tilerun=$bin/tilerun
tilec=$bin/tilec

# is NAME COMMAND…: as ok, but `log` stays that of the last ok or fails
is() {
    if "${@:2}" >check.log 2>&1; then pass; else fail "$1: ${*:2}" check.log log; fi
}
# fails NAME CODE PATTERN COMMAND…
fails() {
    local name=$1 code=$2 pattern=$3 rc
    shift 3
    "$@" >log 2>&1
    rc=$?
    if [ "$rc" -eq "$code" ] && grep -q -- "$pattern" log; then
        pass
    else
        fail "$name: exit code $rc, expected $code and /$pattern/" log
    fi
}
measured() { grep -c '"runs"' "$1" 2>/dev/null || true; }
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }

cp "$tree/examples/matmul_autotuned.tl" mm.tl
# mm SIZE OPTIONS…: c = a @ b of SIZE x SIZE, on the CPU device
mm_words() {
    words=(mm.tl --device=cpu --check=none 'a_ptr=randn:fp16[M,K]' 'b_ptr=randn:fp16[K,N]'
        'c_ptr=empty:fp16[M,N]' M="$1" N="$1" K=64 stride_am=64 stride_ak=1 stride_bk="$1" stride_bn=1
        stride_cm="$1" stride_cn=1)
}
mm() {
    mm_words "$1"
    shift
    "$tilerun" "${words[@]}" "$@"
}
space='BM=32,64;BN=32,64'
four=(-D BK=32 -D GROUP_M=8 --space="$space")

# ---- a list and a space ----
ok 'a space of four' mm 64 --tune --tuning=t.json "${four[@]}" --save c_ptr=c.npy
is 'says which is best' grep -qE '^matmul_autotuned: best of 4 configs for M=64,N=64,K=64 in .*: BM=[0-9]+,BN=[0-9]+: median' log
is 'four records' same "$(measured t.json)" 4
best=$(grep -o '"config": "[^"]*"' t.json | head -1 | cut -d'"' -f4)
is 'the fastest comes first' python3 - <<'INNER'
import json
e = json.load(open("t.json"))["entries"]
assert len(e) == 1 and e[0]["key"] == "M=64,N=64,K=64" and e[0]["target"] == "cpu", e
ms = [c["ms"] for c in e[0]["configs"]]
assert ms == sorted(ms) and all(c["low"] <= c["ms"] <= c["high"] for c in e[0]["configs"])
INNER
fails 'a tuning file in no folder' 3 "cannot write 'none/t.json': No such file" mm 64 --tune --tuning=none/t.json "${four[@]}"
is 'is told before anything is measured' bash -c '! grep -q " runs)" log'
ok 'nothing is measured twice' bash -c "cp t.json before; $(declare -f mm mm_words); tilerun=$tilerun; mm 64 --tune --tuning=t.json ${four[*]@Q} 2>err && [ ! -s err ] && cmp t.json before"
ok 'a run takes it' mm 64 --tuning=t.json -D BK=32 -D GROUP_M=8 --expect c_ptr=c.npy
is 'and says so' grep -q "config $best, tuned for M=64,N=64,K=64" log
ok 'the nearest size' mm 96 --tuning=t.json -D BK=32 -D GROUP_M=8
is 'and says so too' grep -q 'tuned for M=64,N=64,K=64' log
ok 'JSON' mm 64 --tune --tuning=t.json "${four[@]}" --json
is 'with all configs' python3 -c 'import json; t = json.load(open("log"))["tune"]; assert len(t["configs"]) == 4 and t["best"] == t["configs"][0]["config"]'
ok 'the list of the kernel' mm 64 --tune --tuning=list.json
is 'seven records' same "$(measured list.json)" 7
ok 'retune' mm 64 --retune --tuning=list.json
is 'seven records again' same "$(measured list.json)" 7
# What the source imports belongs to it: other code in a module is measured anew.
cat >part.py <<'END'
import triton
import triton.language as tl


@triton.jit
def value():
    return 1.0
END
cat >whole.py <<'END'
import triton
import triton.language as tl
from part import value


@triton.autotune([triton.Config({"B": 16}), triton.Config({"B": 32})], key=[])
@triton.jit
def whole(p, B: tl.constexpr):
    tl.store(p + tl.arange(0, B), value())
END
whole() { "$tilerun" whole.py --device=cpu p=zeros:fp32[32] --grid=1 --tune --tuning=whole.json "$@"; }
ok 'a source with a module' whole
cp whole.json before.json
ok 'with nothing changed' whole
ok 'nothing is measured twice' cmp before.json whole.json
sed -i 's/1.0/2.0/' part.py
ok 'with another module' whole
ok 'it is measured anew' bash -c '! cmp -s before.json whole.json'
ok 'under its own source' bash -c '[ "$(grep -o "source[^,]*" before.json)" != "$(grep -o "source[^,]*" whole.json)" ]'


ok 'without a file' mm 32 --tune "${four[@]}"
for i in 0 3 6; do
    text=$("$tilec" --emit=configs mm.tl -o - | grep -o '"BM[^"]*"' | sed -n "$((i + 1))p" | tr -d '"')
    ok "config $i as text" bash -c "'$tilec' mm.tl --config=$i -o n.ptx 2>/dev/null && '$tilec' mm.tl --config='$text' -o x.ptx 2>/dev/null && cmp n.ptx x.ptx"
done

# ---- failures keep their reason ----
cat >odd.tl <<'INNER'
import triton
import triton.language as tl

@triton.jit
def odd(p, n, W: tl.constexpr, B: tl.constexpr = 16):
    i = tl.arange(0, B)
    tl.static_assert(W != 7, "seven is out")
    tl.store(p + i, tl.where(W == 1, i, i + 1), mask=i < n)
    if W == 5:
        tl.store(p + 1000000, 0)
INNER
odd() { "$tilerun" odd.tl --device=cpu p=zeros:i32[16] n=16 --grid=1 --tune --tuning=odd.json "$@"; }
ok 'some fail' odd --space='W=0,1,2,3,5,7' --save p=p.npy
is 'a wrong result' grep -q '"W=1", "failed": "wrong result: 16 of 16 elements' odd.json
is 'a failed check' grep -q '"W=5", "failed": ".*out of bounds' odd.json
is 'a failed compilation' grep -q '"W=7", "failed": ".*seven is out' odd.json
is 'three are left' same "$(measured odd.json)" 3
is 'the right result' python3 -c 'import struct; assert struct.unpack("<16i", open("p.npy", "rb").read()[-64:]) == tuple(range(1, 17))'
ok 'a known result outvotes' odd --space='W=2,1,4;B=16,16'
is 'and the newcomer fails' grep -q '"W=1,B=16", "failed": "wrong result' odd.json
fails 'all fail' 5 'every config failed' "$tilerun" odd.tl --device=cpu p=zeros:i32[16] n=16 --grid=1 --tune --space='W=5;B=16'
fails 'none compiles' 1 'a power of 2' "$tilerun" odd.tl --device=cpu p=zeros:i32[16] n=16 --grid=1 --tune --space='W=0;B=25'
fails 'a launch that does not fit' 5 'unknown name' "$tilerun" odd.tl --device=cpu p=zeros:i32[16] n=16 --grid=q --tune --tuning=none.json --space='W=0'
is 'leaves no record' test ! -e none.json
fails 'no list, no space' 2 'has no list of configs' "$tilerun" odd.tl --device=cpu p=zeros:i32[16] n=16 --grid=1 --tune
fails 'a missing argument' 1 "parameter 'n' is missing" "$tilerun" odd.tl --device=cpu p=zeros:i32[16] --grid=1 --tune --space=W=0
for bad in W '=3' 'W=' 'W=1,,2' ';;' 'W=1,2,3,4,5,6,7,8;B=1,2,3,4,5,6,7,8;A=1,2,3,4,5,6,7,8;C=1,2,3,4,5,6,7,8;D=1,2'; do
    fails "space $bad" 2 'space' odd --space="$bad"
done
fails 'a space without tuning' 2 '--space is for --tune' "$tilerun" odd.tl --space=W=1
fails 'two choices' 2 '--config chooses' "$tilerun" odd.tl --tune --config=1
printf 'kernel @k() {}' >x.tir
fails 'tile IR' 2 'compiled already' "$tilerun" x.tir --tune

# ---- hostile files ----
for text in x '{"tuning": 1}' '{"tuning": 7, "entries": []}' '{"tuning": 1, "entries": [{"kernel": 5}]}' "$(printf '[%.0s' {1..9999})"; do
    printf '%s' "$text" >bad.json
    fails "hostile: ${text:0:30}" 3 'tuning file' mm 32 --tuning=bad.json "${four[@]}" --tune
    fails "hostile for tilec: ${text:0:30}" 3 'tuning file' "$tilec" mm.tl --tuning=bad.json -o y.ptx
    is 'is left alone' same "$(cat bad.json)" "$text"
done

# ---- tilec ----
sed 's/"target": "cpu"/"target": "sm_80"/' list.json >gpu.json
first=$(grep -o '"config": "[^"]*"' gpu.json | head -1 | cut -d'"' -f4)
ok 'tilec takes it' bash -c "'$tilec' mm.tl --tuning=gpu.json -o tuned.ptx && '$tilec' mm.tl --config='$first' -o first.ptx && cmp tuned.ptx first.ptx"
ok 'by sizes' "$tilec" mm.tl --tuning=gpu.json --for=M=4096,N=4096,K=64 -o tuned.ptx
is 'and says for which' grep -q "tilec: mm.tl: config $first, tuned on .* for M=64,N=64,K=64" log
ok 'a header takes what was measured here' "$tilec" mm.tl --tuning=t.json --variants=tuned --embed=tir -D BK=32 -D GROUP_M=8 -o mm.h
is 'with the sizes' grep -q '"cpu", 0, "M ~ 64,N ~ 64,K ~ 64", mm_image_0' mm.h
is 'and says which config' grep -q "config $best, tuned on .* for M=64,N=64,K=64" log
fails 'not for this GPU' 1 'no config for this kernel' "$tilec" mm.tl --tuning=gpu.json --target=sm_90a -o y.ptx
fails 'other types' 1 'no config for this kernel' "$tilec" mm.tl --tuning=gpu.json -s '*bf16:16,*bf16:16,*bf16:16,i32,i32,i32,i32,i32,i32,i32,i32,i32' -o y.ptx
fails 'no sizes' 2 '--for takes' "$tilec" mm.tl --tuning=gpu.json --for=M -o y.ptx
fails 'several kernels' 2 'choose it with --kernel' "$tilec" "$tree/examples/softmax.tl" --tuning=gpu.json -o y.ptx
is 'no output of these' test ! -e y.ptx

# ---- killed in the middle ----
sixteen=(-D BK=32 -D GROUP_M=8 --space='BM=16,32,64,128;BN=16,32,64,128')
mm_words 128
"$tilerun" "${words[@]}" --tune --tuning=killed.json "${sixteen[@]}" >first.log 2>&1 &
pid=$!
for _ in $(seq 600); do
    [ "$(measured killed.json)" -ge 3 ] 2>/dev/null && break
    sleep 0.01
done
kill -9 $pid
wait $pid 2>/dev/null
before=$(measured killed.json)
is 'killed before the end' test "$before" -ge 3 -a "$before" -lt 16
grep -o '"config": "[^"]*"' killed.json | cut -d'"' -f4 | sort >had
ok 'goes on' mm 128 --tune --tuning=killed.json "${sixteen[@]}"
sed -n 's/^\(BM=[^:]*\): .* runs)$/\1/p' log | sort >now
is 'with the others' same "$(comm -12 had now | wc -l) $(cat had now | sort -u | wc -l)" '0 16'
is 'to the end' same "$(measured killed.json)" 16

# ---- by forecast: nothing is measured ----
ok 'tilec takes the forecast config' "$tilec" mm.tl --target=sm_90a --config=auto --for=M=8192,N=8192,K=8192 -o auto.ptx -Wno-perf
is 'which is a large tile' grep -q '^tilec: mm.tl: config BM=128,BN=128,BK=[0-9]*,.*, by forecast$' log
ok 'for a small product' "$tilec" mm.tl --target=sm_90a --config=auto --for=M=128,N=128,K=4096 -o auto.ptx -Wno-perf
is 'a smaller one' grep -q ' config BM=[0-9]*,BN=\(64\|32\),' log
ok 'a run takes it, too' mm 128 --config=auto
is 'and says which' grep -q '^tilerun: config BM=.*, by forecast$' log
ok 'of the best by forecast' mm 64 --tune --most=2 --tuning=most.json
is 'two are measured' same "$(measured most.json)" 2
ok 'those that have a record are not again' mm 64 --tune --most=3 --tuning=most.json
is 'one more is' same "$(measured most.json)" 3
ok 'more than there are' mm 16 --tune --most=100 --tuning=most100.json
is 'are all' same "$(measured most100.json)" "$(grep -c 'triton.Config' mm.tl)"
ok 'of a space, too' mm 64 --tune --most=1 --tuning=most1.json --space='BM=16,32;BN=16,32;BK=16;GROUP_M=8'
is 'one of its' same "$(measured most1.json)" 1
ok 'by the grid that is given' "$tilerun" mm.tl --device=cpu --check=none --config=auto '--grid=cdiv(M, BM) * cdiv(N, BN)' "${words[@]:3}"
fails 'and no other' 5 'the grid, 0, is 0' "$tilerun" mm.tl --device=cpu --config=auto --grid=0 "${words[@]:3}"
fails 'a number' 2 'takes a number from 1 on' "$tilerun" mm.tl --tune --most=0
fails 'for --tune' 2 'is for --tune' "$tilerun" mm.tl --most=2
fails 'a size is missing' 1 "error: mm.tl: --config=auto: .*'K'.*--for=NAME=VALUE" "$tilec" mm.tl --config=auto --for=M=128,N=128 -o x.ptx
ok 'what -D states stays' "$tilec" mm.tl --target=sm_90a --config=auto --for=M=512,N=512 --for=K=512 -D BM=64 -o auto.ptx -Wno-perf
is 'and that is said' grep -q 'by forecast; what -D and options state stays as it is' log
printf '%s\n' 'import triton' '@triton.jit' 'def f(x: "*fp32"):' '    y = (' >bad.tl
fails 'a mistake in the source' 1 '^bad.tl:[0-9]*:[0-9]*: error:' "$tilec" bad.tl --config=auto --for=M=1 -o x.ptx
fails 'no list' 1 'the kernel has no list of configs' "$tilec" "$tree/examples/copy.tl" --config=auto -o x.ptx
cat >plain.tl <<'INNER'
import triton
import triton.language as tl
# tile: grid = cdiv(n, B)
@triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"])
@triton.jit
def plain(p: "*fp32", n: "i32", B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(p + i, i.to(tl.float32), mask=i < n)
INNER
fails 'no model, none the most' 5 'not one loop of sums' "$tilerun" plain.tl --device=cpu --tune --most=1 p=zeros:fp32[64] n=64
fails 'no model' 1 'not one loop of sums' "$tilec" plain.tl --config=auto --for=n=64 -o x.ptx
fails 'not beside --tuning' 2 'and so does --tuning' "$tilec" mm.tl --config=auto --tuning=t.json -o x.ptx
fails 'of no header' 2 'those of its --variants' "$tilec" mm.tl --config=auto --emit=header -o x.h
fails 'not beside --tune' 2 'and so do --tune' "$tilerun" mm.tl --device=cpu --config=auto --tune
fails 'of no PTX' 2 'need a source' "$tilerun" auto.ptx --config=auto

# ---- many processes on one file, some killed ----
tune_some() { # each tunes its own size until it gets to the end
    local n=$((16 + 16 * $1))
    until mm $n --tune --tuning=many.json "${four[@]}" >/dev/null 2>>many.log; do
        [ $? -ge 128 ] || exit 1
    done
}
for i in $(seq 16); do tune_some "$i" & done
kills=0
for _ in $(seq 12); do
    sleep 0.05
    pids=($(pgrep -P "$(pgrep -P $$ | paste -sd,)" tilerun))
    [ ${#pids[@]} -gt 0 ] && kill -9 "${pids[RANDOM % ${#pids[@]}]}" && kills=$((kills + 1))
done 2>/dev/null
wait 2>/dev/null
is 'some were killed' test "$kills" -ge 3
is 'every record is there' python3 - <<'INNER'
import json
e = json.load(open("many.json"))["entries"]
assert len(e) == 16 and all(len(x["configs"]) == 4 and all("ms" in c for c in x["configs"]) for x in e), e
INNER

finish

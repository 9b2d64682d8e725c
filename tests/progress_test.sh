#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# progress_test.sh: what tilerun shows, on a terminal of its own, of a run that takes some seconds: a line
# that is rewritten, gone at the end, and nowhere but on a terminal. Usage: progress_test.sh BIN-FOLDER
set -u
bin=$(realpath "$1")
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
command -v script >/dev/null || exit 77
export TERM=xterm LC_ALL=C

cat >spin.tl <<'TL'
import triton
import triton.language as tl


# tile: grid = 30
@triton.jit
def spin(p: "*i64", n: "i32", wrong: "i32", B: tl.constexpr = 1):
    a = 0
    for k in range(0, n):
        a += k % 3
    pid = tl.program_id(0)
    if pid % 10 == 5:
        tl.device_print("at", pid)
    tl.store(p + pid + wrong * (pid // 25), a)
TL
# spin TURNS OPTIONS…: 30 programs
spin() { echo "'$bin/tilerun' spin.tl --device=cpu p=empty:i64[30] wrong=0 n=$1 ${*:2}"; }
# shows COMMAND: runs it on a terminal. `raw` is what that got, `lines` each text that was ever in a line
# of it, `left` what stays on it at the end.
shows() {
    script -qec "stty cols ${columns:-80}; $1" /dev/null </dev/null >raw
    rc=$?
    tr '\r' '\n' <raw | sed 's/\x1b\[K//g' | grep . >lines
    python3 screen.py <raw | grep . >left
    return $rc
}
cat >screen.py <<'PY'
import re

for line in open(0, newline="").read().split("\n"):
    shown, at = "", 0
    for part in re.findall(r"\r|\x1b\[K|\x1b\[[0-9;]*m|[^\r\x1b]+", line):
        if part == "\r":
            at = 0
        elif part == "\x1b[K":
            shown = shown[:at]
        elif part[0] != "\x1b":
            shown = shown[:at] + part + shown[at + len(part):]
            at += len(part)
    print(shown)
PY
# rises: the percentages of the lines never fall, and there are several
rises() {
    grep -oE '[0-9]+ %' lines | tr -d ' %' >percent
    [ "$(sort -u percent | wc -l)" -ge 3 ] && sort -nc percent
}
# So many turns take 1.5 s here.
began=$(date +%s%N)
sh -c "$(spin 200000)" >first 2>&1 || cat first
long=$((200000 * 1500 / (($(date +%s%N) - began) / 1000000 + 1)))

programs='(1?[0-9]|2[0-9]|30) of 30 programs'

ok 'a long run' shows "$(spin $long)"
ok 'shows how far it is' grep -qE "^running: \[#+\.+\] +[0-9]+ %, about 0:0[0-9] left, $programs\$" lines
ok 'which grows' rises
ok 'and leaves what the kernel printed' sh -c '[ $(grep -cE "^pid \((5|15|25), 0, 0\) idx \(\) at: " left) -eq 3 ] && [ $(wc -l <left) -eq 3 ]'
ok 'timing one' shows "$(spin $long --bench)"
ok 'shows how far it is, too' grep -qE '^timing: \[#+\.+\] ' lines
ok 'and says how long it took' grep -qE '^spin: [0-9.]+ s, 1 run$' left
ok 'tuning' shows "$(spin $long --tune '--space=B=1')"
ok 'moves within the first launch' grep -qE "^tuning: \[#*\.+\] +[0-9]+ %, about 0:[0-9]+ left, 0 of 2 steps, $programs\$" lines
ok 'and leaves the times' grep -qE '^B=1: [0-9.]+ m?s \(.* 3 runs\)$' left
columns=40
ok 'a narrow terminal' shows "$(spin $long)"
ok 'has the line' grep -q '^running: \[' lines
ok 'which is not broken' sh -c '! grep -E "^.{40}" lines'
columns=80
ok 'one program alone' shows "$(spin $((30 * long)) --grid=1)"
ok 'says how long it has run' grep -qE '^running: \[\.+\] +0 %, 0:0[1-9] so far, 0 of 1 program$' lines
shows "$(spin $long wrong=100 | sed 's/wrong=0 //')"
ok 'an error' test $? -eq 5
ok 'has a line for itself' grep -q '^spin.tl:14:[0-9]*: .*out of bounds' left
ok 'and nothing is left' sh -c '! grep -q running: left'

ok 'a short run shows nothing' shows "$(spin 10)"
ok 'at all' sh -c '! grep -q running: raw'
ok 'a terminal that cannot erase' shows "TERM=dumb $(spin $long)"
ok 'gets nothing' sh -c '! grep -q running: raw'
ok 'a file' shows "$(spin $long) 2>err"
ok 'gets nothing, either' sh -c '[ ! -s err ] && ! grep -q running: raw'

finish

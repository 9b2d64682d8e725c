#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# messages_test.sh: --diagnostics=json: every line of standard error is an object of JSON that says
# what the text says, whatever goes wrong. Usage: messages_test.sh BIN-FOLDER
set -u
bin=$(realpath "$1")
tree=$(realpath "$(dirname "$0")/..")
. "$tree/tests/lib.sh"
cd "$work" || exit 1
tilec=$bin/tilec

cat >check.py <<'PY'
import json, re, sys
place = ["file", "line", "column", "end_column"]
def check(d, nested):
    keys = list(d)
    if not nested: assert keys.pop() == "notes", keys
    code = d.get("code", "")
    if code: keys.remove("code")
    assert keys in (["severity", "text"], ["severity", "text"] + place), keys
    letter = {"error": "EWCR", "warning": "W", "perf": "P", "note": "N"}[d["severity"]]
    assert re.fullmatch("[%s][0-9]{4}" % letter, code) if not nested else not code, d
    assert d["severity"] in ("error", "warning", "perf", "note") and d["text"], d
    if "file" in d: assert 1 <= d["line"] and 1 <= d["column"] < d["end_column"], d
    for n in d.get("notes", []):
        assert n["severity"] == "note"
        check(n, True)
said = []
for line in open("said", encoding="utf-8"):
    d = json.loads(line)
    check(d, False)
    said.append(d)
assert said, "nothing was said"
for one in said:
    if eval(sys.argv[1], {}, {"d": one}): sys.exit(0)
sys.exit("no such object: " + sys.argv[1] + "\n" + "\n".join(map(str, said)))
PY
# says CODE EXPRESSION COMMAND…: all of it is objects, one of which, d, is such that EXPRESSION
says() {
    local code=$1 what=$2 rc
    shift 2
    "$@" >out 2>said </dev/null
    rc=$?
    if [ $rc -ne "$code" ]; then
        fail "$*: exit code $rc, not $code" said
        return
    fi
    ok "$*" python3 check.py "$what"
}
json=--diagnostics=json

cat >bad.tl <<'TL'
import triton
import triton.language as tl


@triton.jit
def k(p, n):
    x = tl.load(q)
    tl.store(p, nn)
TL
says 1 'd["severity"] == "error" and (d["file"], d["line"], d["column"], d["end_column"]) == ("bad.tl", 7, 17, 18)' "$tilec" $json bad.tl
says 1 'd["line"] == 8 and d["column"] == 17 and d["end_column"] == 19' "$tilec" $json bad.tl
says 1 'd["text"].startswith("there is no kernel") and len(d["notes"]) == 1' sh -c "echo def >none.tl; '$tilec' $json none.tl"
# As many, with the same words, as the text has.
"$tilec" --color=never bad.tl 2>text
"$tilec" $json bad.tl 2>said
ok 'as many as in the text' test "$(grep -cE '^bad.tl:[0-9]+:[0-9]+: (error|warning|perf): ' text)" = "$(wc -l <said)"
cp "$tree/examples/matmul.tl" .
says 0 'd["severity"] == "perf"' "$tilec" $json --target=sm_90a -s '*fp16:16,*fp32:16' -D M=32 -D K=32 -o x.ptx "$tree/tests/passes/dot-notes.tl"
# What is no text in the encoding of JSON, or would be no text on a terminal.
says 3 '"a\ufffdb\"\x1b" in d["text"]' "$tilec" $json $'a\377b"\033.tl'
says 1 'd["file"] == "z\ufffd\u009f.tl"' sh -c "cp bad.tl \"\$1\"; '$tilec' $json \"\$1\"" _ $'z\377\302\237.tl'
printf 'x = "\377"\n' >latin.tl
says 1 'd["line"] == 1 and d["column"] == 6' "$tilec" $json latin.tl

# As text, neither.
printf 'a\033[31m\377\302\233.tl' >words
"$tilec" @words 2>said
ok 'harmless to a terminal' grep -qF "cannot read 'a?[31m???.tl'" said

# tilerun says the same where it compiles, and what is wrong with the run.
tilerun=$bin/tilerun
run="--device=cpu x_ptr=zeros:fp32[8] y_ptr=zeros:fp32[8] out_ptr=empty:fp32[8]"
cp "$tree/examples/vector_add.tl" add.tl
says 1 'd["line"] == 7 and d["file"] == "bad.tl"' "$tilerun" $json bad.tl --device=cpu p=zeros:fp32[8] n=8
says 2 'd["text"] == "which file? (see tilerun --help)"' "$tilerun" $json
says 2 'd["text"].startswith("unknown option --devise")' "$tilerun" --devise=cpu add.tl $json
says 1 '"n=VALUE" in d["notes"][0]["text"]' "$tilerun" $json add.tl $run
says 1 'd["text"] == "signature: no kernel has a parameter \x27m\x27"' "$tilerun" $json add.tl $run n=8 m=1
says 3 'd["text"].startswith("cannot read")' "$tilerun" $json no.tl
says 3 'd["text"].startswith("cannot read")' "$tilerun" $json add.tl $run n=8 --tuning=no.json
says 5 '"add.tl:" in d["text"]' "$tilerun" $json add.tl --device=cpu {x,y}_ptr=zeros:fp32[8] out_ptr=zeros:fp32[4] n=8
"$tilerun" $json add.tl $run n=8 >out 2>said
ok 'nothing to say' test ! -s said

# Mistakes of the command line, wherever in it the form stands.
says 2 'd["text"].startswith("unknown option --emitt; did you mean")' "$tilec" --emitt=ptx bad.tl $json
says 2 'd["text"].startswith("unknown option --emitt; did you mean")' "$tilec" --emitt=ptx --diagnostics json bad.tl
says 2 'd["text"] == "no input file"' "$tilec" $json
says 2 '"takes a whole number" in d["text"]' "$tilec" $json --num-warps=four bad.tl
says 2 '"num_warps must be" in d["text"]' "$tilec" $json --num-warps=3 matmul.tl
says 3 'd["text"].startswith("cannot read")' "$tilec" $json --tuning=no.json matmul.tl
says 3 'd["text"].startswith("cannot read")' "$tilec" $json --compare no.tl matmul.tl
says 2 '"--explain-ptx" in d["text"]' "$tilec" $json --explain-ptx=none
says 2 'd["text"].startswith("--embed is of")' "$tilec" $json --emit=header --embed=nothing matmul.tl
says 1 'd["line"] == 7' "$tilec" $json --emit=header bad.tl
says 3 '"/full" in d["text"]' "$tilec" $json matmul.tl -Wno-perf -o /dev/full
"$tilec" --diagnostics=xml bad.tl 2>said
ok 'no other form' grep -q "^tilec: error: --diagnostics is text or json, not 'xml'" said
"$tilec" --diagnostics=text bad.tl 2>said
ok 'text is the default' cmp said text

finish

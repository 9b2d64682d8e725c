#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cli_test.sh: tilec and tilerun on bad command lines and hostile files: the exit code, a message
# that names the trouble, and nothing left behind. Usage: cli_test.sh BIN-FOLDER
#
# What one command line can show is here in one line; kernels with mistakes in them are data files.
set -u
bin=$(realpath "$1")
tree=$(realpath "$(dirname "$0")/..")
. "$tree/tests/lib.sh"
mkdir "$work/box" && cd "$work/box" || exit 1
export LC_ALL=C

# fails CODE PATTERN COMMAND…: exits with CODE, says PATTERN, and changes nothing in this folder
fails() {
    local code=$1 pattern=$2 rc before after
    shift 2
    before=$(find . | sort)
    "$@" >"$work/log" 2>&1 </dev/null
    rc=$?
    after=$(find . | sort)
    judge "$*" "$rc" "$code" "$pattern" "$before" "$after"
}
judge() {
    local what=$1 rc=$2 code=$3 pattern=$4 before=$5 after=$6 bad=
    [ "$rc" -eq "$code" ] || bad="exit code $rc, expected $code"
    grep -qE -- "$pattern" "$work/log" || bad="$bad; does not say /$pattern/"
    [ "$before" = "$after" ] || bad="$bad; left behind: $(comm -13 <(echo "$before") <(echo "$after"))"
    if [ -z "$bad" ]; then
        pass
    else
        fail "$what: $bad" "$work/log"
    fi
}
# works COMMAND…: exits with 0
works() { ok "$*" "$@" </dev/null; }
tilec=$bin/tilec
tilerun=$bin/tilerun
cp "$tree/examples/copy.tl" good.tl
cp "$tree/examples/vector_add.tl" other.tl

# ---- the command line ----
fails 2 'no input file' "$tilec"
fails 2 'unknown option --emitt; did you mean --emit\?' "$tilec" --emitt=ptx good.tl
fails 2 'unknown option -x' "$tilec" -x good.tl
fails 2 '--emit needs a value' "$tilec" good.tl --emit
fails 2 "--emit is .*, not 'ptxx'" "$tilec" --emit=ptxx good.tl
fails 2 '--time takes no value' "$tilec" --time=yes good.tl
fails 2 '--num-warps takes a whole number' "$tilec" --num-warps=four good.tl
fails 2 'num_warps must be 1, 2, 4, 8, 16 or 32, not 3' "$tilec" --num-warps=3 good.tl
for rows in 0 -3 2.5 many; do
    fails 2 "--swizzle-grid takes a whole number from 1 on, not '$rows'" "$tilec" --swizzle-grid=$rows good.tl
done
for number in '' ' 4' +4 0x4 4.0 99999999999999999999; do
    fails 2 "--num-stages takes a whole number from 1 on, not '${number/+/\\+}'" "$tilec" --num-stages="$number" good.tl
done
fails 2 'swizzle_grid must be between 1 and 65535, not 65536' "$tilec" --swizzle-grid=65536 good.tl
fails 2 '--swizzle-grid takes a whole number from 1 on' "$tilerun" --swizzle-grid=0 good.tl
works sh -c "'$tilec' --help | grep -qe --swizzle-grid=G"
works sh -c "'$tilerun' --help | grep -qe --swizzle-grid=G"
fails 2 'stats are of PTX' "$tilec" --stats --emit=tir good.tl
fails 2 "--stats is none or text or json, not 'xml'" "$tilec" --stats=xml good.tl
fails 2 '--time takes no value' "$tilec" --time=json good.tl
# Statistics go where messages go, with or without a ptxas; one that refuses the code is quoted.
mkdir none fake
printf '#!/bin/sh\n[ "$1" = --version ] && echo "release 1.2, V1.2.3" || echo "ptxas fatal : no such GPU (error)"\nexit 1\n' >fake/ptxas
chmod +x fake/ptxas
works sh -c "'$tilec' good.tl -o good.ptx && PATH=none '$tilec' --stats good.tl -o - 2>stats.txt | cmp - good.ptx"
works sh -c "grep -q '^kernel copy: 4 warps, 0 bytes of shared memory' stats.txt && ! grep -q ptxas stats.txt"
works sh -c "PATH=fake '$tilec' --stats good.tl -o good.ptx 2>stats.txt"
works grep -qx 'ptxas 1.2' stats.txt
works grep -q 'no such GPU' stats.txt
rm -r none fake stats.txt good.ptx
fails 2 '-O is -O1 or -O0' "$tilec" -O3 good.tl
fails 2 '-W is -Werror' "$tilec" -Wall good.tl
fails 2 '--color is auto, always or never' "$tilec" --color=blue good.tl
fails 2 "--verify is none or each" "$tilec" --verify=all good.tl
fails 2 '-D takes NAME=VALUE' "$tilec" -D BLOCK good.tl
fails 2 'unknown target .sm_81.: the nearest that serves it is sm_80' "$tilec" --target=sm_81 good.tl
fails 2 '.sm_75. is too old: .* they begin with sm_80' "$tilec" --target=sm_75 good.tl
fails 2 '.T4. is too old: .* sm_75 has none' "$tilec" --target=T4 good.tl
fails 2 'did you mean .rtx 4090.[?] It is one of sm_80' "$tilec" --target='RTX 4091' good.tl
while read -r target name; do # what nvidia-smi prints, and what people write
    ok "$name is $target" sh -c '"$1" -Wno-perf --target="$2" -o - good.tl | grep -qx ".target $3"' _ \
        "$tilec" "$name" "$target"
done <<'GPUS'
sm_80 ampere
sm_80 NVIDIA A100-SXM4-80GB
sm_86 NVIDIA GeForce RTX 3060 Laptop GPU
sm_87 Jetson AGX Orin
sm_89 RTX 4090
sm_89 NVIDIA RTX 6000 Ada Generation
sm_90a H100
sm_90a NVIDIA H200
sm_100 B200
sm_103 GB300
sm_110 Thor
sm_120 rtx5090
GPUS
fails 2 "there is no pass 'foldd'; did you mean 'fold'" "$tilec" --passes=foldd --emit=tir good.tl
fails 1 "pass 'layout' cannot be left out: code generation needs what it makes" "$tilec" --without=licm,layout good.tl
ok 'a pass that may be left out' "$tilec" --without=licm,cse -o without.ptx good.tl
fails 2 "the version of Triton is 3.6, 3.7, 3.8 or 3.9, not '3.10'" "$tilec" --triton=3.10 --emit=tir good.tl
fails 2 "ends in .tl, .py or .tir, not 'good.txt'" "$tilec" good.txt
fails 2 '-o takes one input' "$tilec" good.tl other.tl -o x.ptx
fails 2 "two inputs would both be written to 'good.ptx'" "$tilec" good.tl ./good.tl
fails 2 'Its suffix does not say' "$tilec" good.tl -o x.foo
fails 2 'standard input is named twice' "$tilec" - -
fails 2 'several targets are for --emit=header' "$tilec" --target=sm_80,sm_90a good.tl
works sh -c "[ \$('$tilec' --emit=header --target=sm_80,sm_80 good.tl -o - | grep -c '^        {\"sm_80\"') = \$('$tilec' --emit=header good.tl -o - | grep -c '^        {\"sm_80\"') ]"
fails 1 "config: no kernel has a parameter 'BLOK'" "$tilec" --config=BLOK=16 good.tl
fails 1 "--for: no kernel has a parameter 'N'" "$tilec" --for=N=5 good.tl
fails 1 "signature: no type follows 'x_ptr='" "$tilec" -s x_ptr= other.tl
fails 3 "cannot read 'no.json': No such file" "$tilec" --tuning=no.json good.tl
works "$tilec" --help
works "$tilec" --version
works "$tilec" -o - -- good.tl

# ---- words from files ----
echo "--emit=tir -o 'a b.tir'" >words
works sh -c "'$tilec' @words good.tl && test -s 'a b.tir' && rm 'a b.tir'"
works sh -c "cp good.tl @good.tl && '$tilec' -o - -- @good.tl && '$tilec' -o - ./@good.tl && rm @good.tl"
works sh -c "echo M=1 >list && '$tilec' --emit=header --variants @list good.tl -o - >separate; '$tilec' --emit=header --variants=@list good.tl -o - | cmp - separate; rm list separate"
fails 3 "tilec: error: cannot read 'nowhere': No such file" "$tilec" @nowhere good.tl
fails 3 "tilerun: cannot read 'nowhere': No such file" "$tilerun" @nowhere good.tl
fails 3 '^[{]"severity": "error", "code": "R0005", "text": "cannot read' "$tilec" @nowhere --diagnostics=json
echo '--emitt=x' >words
fails 2 'did you mean --emit' "$tilec" @words good.tl
echo 'other.tl --device=cpu x_ptr=zeros:fp32[8] y_ptr=zeros:fp32[8] --save out_ptr=out.npy' >words
works sh -c "'$tilerun' @words out_ptr=empty:fp32[8] n=8 && '$tilerun' @words out_ptr=@out.npy n=8 && rm out.npy"
fails 2 '16 files name each other' sh -c "echo @words >>words; exec '$tilec' @words"
rm words

# ---- files ----
fails 3 "cannot read 'missing.tl': No such file" "$tilec" missing.tl
# What is shown of a line sends a terminal nothing but characters, and the caret stays below its own.
printf 'x = "\303\244\302\233 \351\033"; y\n' >odd.tl
printf '    x = "\303\244  ? "; y\n            ^\n' >shown
fails 1 'odd.tl:1:11: error: the text is not UTF-8: byte 0xE9' "$tilec" odd.tl
works sh -c "'$tilec' odd.tl 2>&1 | tail -n 2 | cmp - shown"
printf '\277\277%0200d' 0 >odd.tl # it begins inside of a character
printf '    ??%0158d\n    ^\n' 0 >shown
works sh -c "'$tilec' odd.tl 2>&1 | tail -n 2 | cmp - shown"
mkdir folder.tl
fails 3 "cannot read 'folder.tl': Is a directory" "$tilec" folder.tl
fails 3 "cannot write 'nowhere/x.ptx': No such file" "$tilec" good.tl -o nowhere/x.ptx
fails 3 "cannot write 'folder.tl': Is a directory" "$tilec" good.tl --emit=ptx -o folder.tl
fails 3 'No space left' "$tilec" good.tl -o /dev/full
fails 3 'No space left' sh -c "exec '$tilec' good.tl -o - >/dev/full"
fails 3 'cannot write standard output' sh -c "exec '$tilec' --help >/dev/full"
fails 3 'File too large' bash -c "ulimit -f 1; exec '$tilec' good.tl -o x.ptx"
fails 1 'larger than 8 MB' sh -c "head -c 50000000 /dev/zero | '$tilec' -"
head -c 50000000 /dev/zero >huge.tl
fails 1 'larger than 8 MB' "$tilec" huge.tl
rm huge.tl
: >empty.tl
fails 1 'empty.tl.*error' "$tilec" empty.tl
printf 'x = "\377"\n' >latin.tl
fails 1 'latin.tl:1:6: error: .*UTF-8' "$tilec" latin.tl
printf 'x = 1\000\n' >nul.tl
fails 1 'nul.tl.*error' "$tilec" nul.tl
printf 'kernel @k() {\n' >cut.tir
fails 1 'cut.tir:.*error' "$tilec" cut.tir
fails 2 'would replace the input' "$tilec" cut.tir --emit=tir
fails 1 'cut.tir.*error' "$tilec" good.tl cut.tir # good.ptx must not be written either

# A file system that fills up after the first page of the output, where one may be mounted.
mkdir small
cat >full.sh <<INNER
mount -t tmpfs -o size=64k none small 2>/dev/null || exit 99
head -c 1000000 /dev/zero >small/filler 2>/dev/null
truncate -s -4096 small/filler
'$tilec' '$tree/examples/matmul.tl' -o small/x.ptx
rc=\$?
[ "\$(ls -A small)" = filler ] || echo LEFT BEHIND: "\$(ls -A small)"
exit \$rc
INNER
if unshare -m sh -c 'mount -t tmpfs none small' 2>/dev/null; then
    fails 3 "cannot write 'small/x.ptx': No space left" unshare -m sh full.sh
    works sh -c '! unshare -m sh full.sh 2>&1 | grep "LEFT BEHIND"'
fi
rm -r small full.sh

# ---- outputs ----
works "$tilec" good.tl
works test -s good.ptx
works "$tilec" good.tl other.tl --emit=tir
works test -s good.tir -a -s other.tir
works "$tilec" good.tir -o again.ptx
# Tile IR with buffers and conversions has layouts; without them it is refused, not followed.
"$tilec" --target=sm_90a --emit=layout "$tree/examples/matmul.tl" -o laid.tir
works "$tilec" laid.tir --target=sm_90a -o laid.ptx
sed -E 's/@L[0-9]+//g; /^ *layout /d' laid.tir >bare.tir
fails 1 "bare.tir:.*is for tiles that have layouts" "$tilec" bare.tir --target=sm_90a -o bare.ptx
sed -E '/shared<|^ *layout /!s/@L[0-9]+//g' laid.tir >bare.tir
fails 1 "bare.tir:.*is for tiles that have layouts" "$tilec" bare.tir --target=sm_90a -o bare.ptx
works "$tilec" good.tl -o x.json
works grep -q '"manifest": 1' x.json
works sh -c "'$tilec' - < good.tl | grep -q 'visible .entry'"
works sh -c "'$tilec' --emit=ptx good.tl -o first && '$tilec' --emit=ptx good.tl -o second && cmp first second"
works sh -c "mkdir sub && cp good.tl sub && cd sub && '$tilec' ../sub/good.tl -g -o g1.ptx && '$tilec' '$PWD/good.tl' -g -o g2.ptx && cmp g1.ptx g2.ptx"
ln -s target.ptx link.ptx
: >target.ptx
chmod 640 target.ptx
works "$tilec" good.tl -o link.ptx
works test -L link.ptx -a -s target.ptx
works sh -c '[ "$(stat -c %a target.ptx)" = 640 ]'
works sh -c "umask 027; '$tilec' good.tl -o masked.ptx; [ \"\$(stat -c %a masked.ptx)\" = 640 ]"
works "$tilec" good.tl -o /dev/null
works sh -c "'$tilec' good.tl -o - | cmp - good.ptx"

# ---- bundles: all that a compilation takes, in one file ----
bundle() {
    printf 'tilec bundle 1\nversion 0 5\n\n0.0.9\ntext 9 7\nfile_name\ngood.tl\nsource 0 %d\n\n' "$(wc -c <good.tl)"
    cat good.tl
    printf '\nmessage 0 4\n\nboom\n'
}
bundle >good.bundle
works sh -c "'$tilec' --reproduce good.bundle -o - | cmp - good.ptx"
works sh -c "'$tilec' --reproduce good.bundle 2>&1 | grep -q '^tilec: good.bundle: of version 0.0.9; this is '"
works sh -c "'$tilec' --reproduce good.bundle --dump-after=all 2>&1 | grep -q 'kernel @'"
fails 3 "cannot read 'no.bundle': No such file" "$tilec" --reproduce no.bundle
fails 2 "'good.tl' is no bundle of tilec" "$tilec" --reproduce good.tl
fails 2 "--reproduce takes no other file" "$tilec" --reproduce good.bundle good.tl
# What would have no effect is refused, before anything is read.
fails 2 '--num-warps has no effect beside --reproduce' "$tilec" --reproduce good.bundle --num-warps=8
fails 2 '-g has no effect beside --cache' "$tilec" --cache -g
fails 2 "--cache takes no other file, such as 'pin:ab': what it is to do is one word with it" "$tilec" --cache pin:ab
for other in --emit=tir -MD --variants=num_warps=8 --dump-after=all --time --annotate; do
    fails 2 "${other%%=*} has no effect beside --compare" "$tilec" good.tl --compare "$other"
done
fails 2 '--emit has no effect beside --explain-ptx' "$tilec" --explain-ptx=x.ptx:3 --emit=tir
head -c -20 good.bundle >cut.bundle
fails 2 "the bundle 'cut.bundle' is not whole: it was cut off, or changed" "$tilec" --reproduce cut.bundle

# ---- tilerun ----
fails 2 'unknown option' "$tilerun" --no-such-option good.tl
# A file that never ends is known by its beginning.
fails 3 'src_ptr: /dev/zero: not a .npy file' "$tilerun" good.tl --device=cpu src_ptr=@/dev/zero
fails 3 "cannot read 'no.json': No such file" "$tilerun" other.tl --device=cpu --tuning=no.json {x,y,out}_ptr=zeros:fp32[8] n=8
fails 1 "no kernel has a parameter 'BLOK'" "$tilerun" other.tl --device=cpu --tune --space=BLOK=16,32 {x,y,out}_ptr=zeros:fp32[8] n=8
fails 3 "missing.tl" "$tilerun" missing.tl
fails 2 '--color is auto, always or never' "$tilerun" --color=blue good.tl
works "$tilerun" --help

# ---- colours: on a terminal that has them, unless they are not wanted ----
echo 'def' >bad.tl
# colours WORDS: of what these words print on a terminal
colours() { ! script -qec "env $*" /dev/null | grep -q $'\033\[' || echo some; }
if command -v script >/dev/null; then
    for program in "$tilec" "$tilerun"; do
        works test "$(colours TERM=xterm NO_COLOR= "$program" bad.tl)" = some
        works test -z "$(colours TERM=dumb NO_COLOR= "$program" bad.tl)"
        works test -z "$(colours TERM=xterm NO_COLOR=1 "$program" bad.tl)"
        works test "$(colours TERM=dumb "$program" --color=always bad.tl)" = some
    done
fi

finish

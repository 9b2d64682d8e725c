#!/bin/bash
# mix_test.sh: what the code of each example is made of (global and shared accesses by width, matrix
# instructions, barriers, conversions, registers, shared bytes) is what tests/codegen/goldens/ says, so
# that a change to the compiler shows there. Usage: mix_test.sh PATH-TO-tilec [--bless]
set -u
tilec=$(realpath "$1")
bless=${2:-}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ptxas=${PTXAS:-$(command -v ptxas || ls /usr/local/cuda*/bin/ptxas 2>/dev/null | head -1)}
goldens=tests/codegen/goldens
passed=0 failed=0

# Counts of each kernel's instructions, one `kernel what count` a line.
instructions() {
    awk '
        function width(op, n) { # bytes of one access: .v4.b32 is 16
            n = match(op, /\.v[24]\./) ? substr(op, RSTART + 2, 1) : 1
            match(op, /[0-9]+$/)
            return n * substr(op, RSTART, RLENGTH) / 8
        }
        /^\.visible \.entry/ { kernel = $3; sub(/\(.*/, "", kernel) }
        /^[ \t]+(@!?%p[0-9]+[ \t]+)?[a-z]/ && kernel {
            op = $1 ~ /^@/ ? $2 : $1
            sub(/;$/, "", op)
            what = op
            sub(/\..*/, "", what)
            if (op ~ /^(ld|st)\.(volatile\.)?(global|shared)/)
                what = what (op ~ /global/ ? ".global" : ".shared") "." width(op) ($1 ~ /^@/ ? " masked" : "")
            else if (op ~ /^ldmatrix/) what = op ~ /trans/ ? "ldmatrix.trans" : "ldmatrix"
            else if (what !~ /^(mma|bar|cvt|shfl|bra|div|rem|fma)$/) what = "other"
            count[kernel " " what]++
        }
        END { for (k in count) print k, count[k] }' "$1" | LC_ALL=C sort
}

# Registers and spills by ptxas, whose version they depend on.
registers() {
    [ -x "$ptxas" ] || return
    "$ptxas" --version | sed -n 's/.*release \([0-9.]*\).*/ptxas \1/p'
    "$ptxas" -v -arch="$2" -o /dev/null "$1" 2>&1 | awk '
        /Compiling entry function/ { split($0, part, "\047"); name = part[2] }
        /bytes spill stores/ { print name " ptxas spills " $5 + $9 " stack " $1 }
        /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); print name " ptxas registers " substr($0, RSTART + 5, RLENGTH - 5) }
    ' | LC_ALL=C sort
}

# check NAME EXAMPLE OPTION…
check() {
    local base=$1 source=examples/$2.tl target name golden difference
    shift 2
    for target in sm_80 sm_90a; do
        name=$base.$target
        golden=$goldens/$name.mix
        if ! "$tilec" -Wno-perf --target="$target" "$@" "$source" -o "$work/$name.ptx" >"$work/log" 2>&1; then
            failed=$((failed + 1))
            cat "$work/log"
            continue
        fi
        {
            instructions "$work/$name.ptx"
            tr -d '\n' <"$work/$name.ptx" | grep -oE '"shared": *[0-9]+' | tr -d '",' | tr ':' ' '
            registers "$work/$name.ptx" "$target"
        } | tr -s ' ' >"$work/$name.mix"
        if [ "$bless" = --bless ]; then
            mkdir -p "$goldens"
            cp "$work/$name.mix" "$golden"
        fi
        # Without ptxas, or with another one, its lines say nothing.
        if [ "$(grep '^ptxas' "$work/$name.mix")" != "$(grep '^ptxas' "$golden" 2>/dev/null)" ]; then
            grep -v ptxas "$work/$name.mix" >"$work/have"
            grep -v ptxas "$golden" >"$work/want" 2>/dev/null
        else
            cp "$work/$name.mix" "$work/have"
            cp "$golden" "$work/want" 2>/dev/null || : >"$work/want"
        fi
        if difference=$(diff "$work/want" "$work/have"); then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            printf '%s differs (< golden, > now; --bless to accept):\n%s\n' "$golden" "$difference"
        fi
    done
}

for source in examples/*.tl; do check "$(basename "$source" .tl)" "$(basename "$source" .tl)"; done
# As a launch from source finds them to be: sizes and addresses that 16 divides; larger tiles.
check copy-wide copy -s 'src=*fp32:16,dst=*fp32:16,n=i32:16'
check rgb2grey-wide rgb2grey -s 'rgb_ptr=*u8:16,grey_ptr=*u8:16,h=i32,w=i32:16'
check matmul-large matmul -D BM=128 -D BN=128 -D BK=64 --num-warps=8 -D ACTIVATION=leaky_relu
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

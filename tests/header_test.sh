#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# header_test.sh: include/tile.h is clean C11 and C++, alone and twice; the example in its opening
# comment compiles and links with the runtime only. Usage: header_test.sh BUILD-FOLDER
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/.."
. tests/lib.sh

printf '#include "tile.h"\n#include "tile.h"\nint main(void) { return TILE_OK; }\n' >"$work/h.c"
cp "$work/h.c" "$work/h.cc"
ok 'C11' gcc -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror -Iinclude -c "$work/h.c" -o "$work/h.o"
printf '#include "tile_dlpack.h"\n#include "tile.h"\n#include "tile_dlpack.h"\n' >"$work/d.c"
printf 'int main(void) { return (int)sizeof(struct DLManagedTensorVersioned) == 80 ? 0 : 1; }\n' >>"$work/d.c"
cp "$work/d.c" "$work/d.cc"
ok 'DLPack in C11' gcc -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror -Iinclude "$work/d.c" -o "$work/d"
ok 'DLPack struct' "$work/d"
ok 'DLPack in C++' g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -Iinclude "$work/d.cc" -o "$work/d"
ok 'C++' g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -Iinclude -c "$work/h.cc" -o "$work/h.o"

# The lines of the comment that are indented by four spaces are the example.
awk 'NR > 1 && /\*\// { exit } /^ \*     / { sub(/^ \*     /, ""); print }' include/tile.h >"$work/example.c"
ok 'example is there' grep -q 'int main' "$work/example.c"
ok 'example compiles and links' gcc -std=c11 -Wall -Wextra -Werror -Iinclude "$work/example.c" \
    "$build/lib/libtile_runtime.a" -ljansson -ldl -lm -lpthread -o "$work/example"
ok 'the runtime needs no LLVM' sh -c "! ldd '$work/example' | grep -iE 'llvm|stdc'"

# Every function of the header is defined in a library.
nm -g --defined-only "$build"/lib/libtile_*.a | awk '{print $3}' | sort -u >"$work/defined"
grep -oE '\btile_[a-z_]+\(' include/tile.h | tr -d '(' | sort -u |
    grep -vxE 'tile_(int|float|pointer|typed_pointer|i32|i64|f32|none)' >"$work/declared"
ok 'every function is defined' sh -c "missing=\$(comm -13 '$work/defined' '$work/declared'); echo \"\$missing\"; [ -z \"\$missing\" ]"

finish

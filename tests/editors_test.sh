#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# editors_test.sh: editors/ is made from the table of builtins as it is now, its JSON is JSON, and, where
# Vim or Node are found, names and directives are highlighted as such, :make finds the mistake and
# VS Code gets what the language server says.
# Usage: editors_test.sh PATH-TO-tilec
set -u
tilec=$(realpath "$1")
cd "$(dirname "$0")/.."
tree=$PWD
. tests/lib.sh

ok 'lists of names' scripts/gen-editors --check
# No name of the table is missing, by a count of another kind than the generator's.
for name in $(sed -n 's/^BUILTIN("\([A-Za-z_0-9]*\)", "[A-Z]*[LTXDE][A-Z]*".*/\1/p' frontend/builtins.def); do
    for file in editors/vim/syntax/tile.vim editors/vscode/syntaxes/tile.tmLanguage.json; do
        grep -qwF -e "$name" "$file" || echo "$name is not in $file"
    done
done >"$work/missing"
ok 'every builtin is there' sh -c "! grep . '$work/missing'"

for file in $(find editors/vscode -name '*.json'); do
    echo 'file(READ ${FILE} text)
string(JSON kind ERROR_VARIABLE bad TYPE "${text}")
if(bad OR NOT kind STREQUAL OBJECT)
    message(FATAL_ERROR "${bad}")
endif()' >"$work/json.cmake"
    ok "$file is JSON" cmake -DFILE="$file" -P "$work/json.cmake"
done
for path in $(grep -oE '"\./[^"]+"' editors/vscode/package.json | tr -d '"'); do
    ok "package.json names $path" test -f "editors/vscode/$path"
done

cat >"$work/k.tl" <<'TL'
# tile: grid = cdiv(n, BLOCK)
@triton.jit
def k(x: "*fp16:16", n: "i32"):
    y = tl.math.exp2(tl.load(x)).to(tl.float16).nothing()
TL
cat >"$work/bad.tl" <<'TL'
import triton
@triton.jit
def k():
    no_such_name()
TL

if command -v node >/dev/null; then
    cat >"$work/check.js" <<'JS'
const fs = require("fs");
const grammar = JSON.parse(fs.readFileSync("editors/vscode/syntaxes/tile.tmLanguage.json"));
const text = fs.readFileSync(process.argv[2], "utf8");
const found = [];
for (const rules of Object.values(grammar.injections))
    for (const p of rules.patterns)
        for (const m of text.matchAll(new RegExp(p.match, "gm")))
            found.push(m.slice(1).join(" "));
const want = ["tile: grid = cdiv(n, BLOCK)", '"*fp16:16"', '"i32"', "float16", "exp2", "load", "to"];
for (const w of want) if (!found.includes(w)) throw new Error(`${w} is not among ${found}`);
if (found.includes("nothing")) throw new Error("nothing is a name");
const line = /(.*)/, matcher = JSON.parse(fs.readFileSync("editors/vscode/package.json")).contributes.problemMatchers[0];
const m = fs.readFileSync(process.argv[3], "utf8").match(new RegExp(matcher.pattern.regexp, "m"));
if (!m || m[2] !== "4" || m[4] !== "error" || m[5].includes("[") || m[matcher.pattern.code] !== "E0201") throw new Error("the problem is not matched");
JS
    "$tilec" --color=never -o /dev/null "$work/bad.tl" 2>"$work/errors"
    ok 'patterns of VS Code' node "$work/check.js" "$work/k.tl" "$work/errors"
    ok 'the language server in VS Code' node tests/vscode.js "$tilec"
fi

if command -v vim >/dev/null && vim --version | grep -q '+syntax'; then
    # group LINE TEXT: what the first letter of TEXT in that line is highlighted as
    cat >"$work/check.vim" <<VIM
set nocompatible shortmess+=I
set runtimepath^=$tree/editors/vim
filetype plugin indent on
syntax on
edit $work/k.tl
let out = [&filetype]
for [line, text] in [[1, 'tile'], [3, '"\*fp16'], [4, 'exp2'], [4, 'load'], [4, 'to('], [4, 'float16'], [4, 'nothing'], [3, 'def']]
    let column = match(getline(line), text) + 1
    call add(out, text . ' ' . synIDattr(synID(line, column, 1), 'name'))
endfor
edit $work/bad.tl
silent! make
call add(out, 'error in line ' . (len(getqflist()) ? getqflist()[0].lnum : 'none'))
call writefile(out, '$work/groups')
qall!
VIM
    cat >"$work/expected" <<'TXT'
tile
tile tileDirective
"\*fp16 tileType
exp2 tileBuiltin
load tileBuiltin
to( tileMethod
float16 tileDtype
nothing 
def pythonStatement
error in line 4
TXT
    PATH=$(dirname "$tilec"):$PATH vim -u NONE -i NONE -n -es -S "$work/check.vim" </dev/null >"$work/log" 2>&1
    ok 'groups of Vim' diff "$work/expected" "$work/groups"
fi

finish

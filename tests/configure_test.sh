#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# configure_test.sh: CMake finds LLVM's llvm-config under each name that it has somewhere, takes the one that it
# is told, passes over those of other versions, and says what to do where there is none.
# Usage: configure_test.sh BUILD-FOLDER (of the release preset, whose LLVM is taken)
set -u
tree=$(realpath "$(dirname "$0")/..")
real=$(sed -n 's/^LLVM_CONFIG_22:FILEPATH=//p' "$1/CMakeCache.txt")
. "$tree/tests/lib.sh"
cd "$work" || exit 1
[ -x "$real" ] || { echo "configure: $1 is not of LLVM 22" && exit 77; }

# A folder is all that CMake looks into: programs that a build needs beside llvm-config.
mkdir folder
for program in flex bison python3 gzip ldconfig; do ln -s "$(command -v $program)" folder/; done
fake() { # NAME VERSION|real; no links, through which a later one would write
    local does="exec $real \"\$@\""
    [ "$2" = real ] || does="echo $2"
    printf '#!/bin/sh\n%s\n' "$does" >"folder/$1"
    chmod +x "folder/$1"
}
# configures OPTION…: in a fresh folder; what it says is in `said`, on one line
configures() {
    rm -rf out
    cmake -S "$tree" -B out -G Ninja -DCMAKE_PROGRAM_PATH="$work/folder" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF \
        -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF -DCMAKE_C_COMPILER="$(command -v gcc)" \
        -DCMAKE_CXX_COMPILER="$(command -v g++)" -DCMAKE_MAKE_PROGRAM="$(command -v ninja)" "$@" >log 2>&1
    local rc=$?
    tr -s '\n ' ' ' <log >said
    return $rc
}
found() { grep -x "LLVM_CONFIG_22:FILEPATH=$1" out/CMakeCache.txt; }
says() { configures "${@:2}" && return 1; grep -F -- "$1" said; }

for name in llvm-config-22 llvm-config22 llvm-config-22-64 llvm-config; do
    fake $name real
    ok "configured by $name" configures
    ok "$name is found" found "$work/folder/$name"
    rm "folder/$name"
done
fake llvm-config22 14.0.6
fake llvm-config 22.1.0-and-more
configures || true # the second answers every question with its version
ok 'one of another version is passed over' found "$work/folder/llvm-config"
rm folder/llvm-config*
fake elsewhere real
ok 'configured by the one that is named' configures -DTILE_LLVM_CONFIG="$work/folder/elsewhere"
fake elsewhere 21.1.8
ok 'one that is named, of another version' says \
    "elsewhere is of LLVM 21.1.8, not 22: -DTILE_LLVM_CONFIG names another, -DTILE_LLVM_VERSION takes 22 or 19" \
    -DTILE_LLVM_CONFIG="$work/folder/elsewhere"
ok 'one that is named, and not there' says \
    "/nowhere/llvm-config --version fails (No such file or directory): -DTILE_LLVM_CONFIG names" \
    -DTILE_LLVM_CONFIG=/nowhere/llvm-config
[ -d /usr/lib/llvm-19 ] && skip || ok 'none at all' says "there is no llvm-config of LLVM 19, by whatever name: install llvm-19-dev" -DTILE_LLVM_VERSION=19
ok 'a version that nobody knows' says "tilec is built on LLVM 22 or 19, not on 20" -DTILE_LLVM_VERSION=20

finish

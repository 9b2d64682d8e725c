#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# package_test.sh: what cmake --install and cpack give works outside the tree: a project in C11 and
# C++17 built by find_package and by pkg-config, moved and run; soname, versioned symbols, nothing
# shown but tile.h; manuals and completions in place; the licences of all that is linked in; a .deb
# that holds the same.
# Usage: package_test.sh BUILD-FOLDER (of the release preset)
set -u
build=$(realpath "$1")
tree=$(realpath "$(dirname "$0")/..")
. "$tree/tests/lib.sh"
cd "$work" || exit 1

not() { ! "$@"; }

cp -r "$tree/tests/package" source # nothing of the tree may be near
. source/build.sh

# works FILE: each paragraph of a copyright file as ` FILES… :: LICENCE :: COPYRIGHT`
works() {
    awk -v RS= -F '\n' '/^Files:/ {
        split("", of)
        for (i = 1; i <= NF; i++) {
            if (match($i, /^[A-Za-z-]+:/)) { key = substr($i, 1, RLENGTH); $i = substr($i, RLENGTH + 1) }
            of[key] = of[key] $i
        }
        print of["Files:"] " ::" of["License:"] " ::" of["Copyright:"] }' "$1"
}

# licences FILE LIB: a copyright file is in Debian's format, names every library that the .pc files of
# LIB link in, with its licence, and has the text of each licence
licences() {
    local file=$1 entry library licence
    ok 'copyright: the format' sh -c "head -1 '$file' |
        grep -x 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'"
    ok 'copyright: its paragraphs' awk -v RS= 'NR > 1 && !/^(Files|License): / { print; bad = 1 } END { exit bad }' "$file"
    ok 'copyright: nothing is left of the template' not grep -E '@[A-Z_]+@' "$file"
    works "$file" >named
    ok 'copyright: each work is somebody'"'"'s' not grep -vE ':: .+ :: .+' named
    for entry in '*=Apache-2.0 with LLVM exception' 'llvm/*=APACHE-2-LLVM-EXCEPTIONS and NCSA' 'jansson/*=MIT' \
        'zlib/*=Zlib' 'zstd/*=BSD-3-clause-Meta' 'xxhash/xxhash.h=BSD-2-clause' 'stdc++/*=GPL-3+ with GCC-3.1 exception'; do
        ok "copyright: $entry" sh -c "grep -F '${entry%%=*} ' named | grep -F ':: ${entry#*=} ::'"
    done
    awk -F ' :: ' '{ gsub(/ (and|or) /, "\n", $2); print $2 }' named | sort -u >used
    while read -r licence; do
        ok "copyright: the text of $licence" awk -v RS= -v text="License: $licence
 " 'index($0, text) == 1 { found = 1 } END { exit !found }' "$file"
    done <used
    ok 'copyright: the whole of LICENSE' sh -c "
        awk -v RS= '/^License:/ { print; exit }' '$file' | sed '1d; s/^ \.\$//; s/^ //' | diff -B - '$tree/LICENSE'"
    # each -l that is not glibc's
    sed -n 's/^Libs.private: *//p' "$2"/pkgconfig/tile-*.pc | tr ' ' '\n' |
        sed -n 's/^-lLLVM.*/llvm/p; t; s/^-lz$/zlib/p; t; s/^-l//p' | grep -vxE 'dl|m|pthread' | sort -u >linked
    ok 'LLVM is linked in' grep -x llvm linked
    while read -r library; do
        ok "copyright: $library is named" grep -F "$library/* " named
    done <linked
}

# checks PREFIX: everything of a package that lies there
checks() {
    local at=$1 lib=$1/lib app
    export PKG_CONFIG_PATH=$lib/pkgconfig
    for part in runtime compiler; do
        ok "soname of $part" sh -c "readelf -d $lib/libtile_$part.so | grep -F 'soname: [libtile_$part.so.1]'"
        nm -D --defined-only "$lib/libtile_$part.so.1" | awk '$2 != "A" { print $3 }' | sort >shown
        ok "$part shows something" test -s shown
        ok "symbols of $part have a version" not grep -v '@@TILE_1$' shown
        nm -g --defined-only "$lib/libtile_$part.a" | awk 'NF == 3 { print $3 }' | sort >in_archive
        sed 's/@.*//' shown >plain
        ok "library and archive of $part show the same" cmp plain in_archive
        cat plain >>all
    done
    grep -oE '^static inline [a-z_0-9]+ \**tile_[a-z0-9_]+' "$at/include/tile.h" | grep -oE '[a-z0-9_]+$' >inline
    ok 'all of tile.h is there, and nothing else' sh -c "
        grep -oE '\\btile_[a-z0-9_]+\\(' $at/include/tile.h | tr -d '(' | sort -u |
            grep -vxFf inline >declared; sort all | diff declared -"
    rm -f all
    ok 'the runtime needs no LLVM' sh -c "! ldd $lib/libtile_runtime.so.1 | grep -iE 'llvm|stdc'"
    for program in tilec tilerun; do
        ok "$program" sh -c "$at/bin/$program --version | grep '^$program 0'"
        ok "manual page of $program" grep -q '^.SH OPTIONS' "$at/share/man/man1/$program.1"
        ok "completion of $program" grep -q "^complete -F _$program" \
            "$at/share/bash-completion/completions/$program"
        ok "zsh completion of $program" sh -c "cat $at/share/zsh/*/_$program | grep '^#compdef $program'"
    done

    ok 'LICENSE' cmp "$tree/LICENSE" "$at/share/doc/tilec/LICENSE"
    licences "$at/share/doc/tilec/copyright" "$lib"

    ok 'the kernel as PTX' "$at/bin/tilec" -Wno-perf source/scale.tl -o scale.ptx

    # find_package
    rm -rf outside
    ok 'find_package: configure' package_configure "$at"
    ok 'find_package: build' package_build
    ok 'find_package: every component' cmake -S source -B components -DCMAKE_PREFIX_PATH="$at" \
        "-DCOMPONENTS=runtime;compiler;runtime_static;compiler_static;tilerun"
    rm -rf components
    ok 'find_package: a component that is not there' sh -c "! cmake -S source -B components \
        -DCMAKE_PREFIX_PATH='$at' '-DCOMPONENTS=runtime;cuda' >said 2>&1"
    ok 'is told, with those that are' sh -c "tr -s '\n ' ' ' <said | grep -F \
        \"has no component 'cuda'; it has runtime, compiler, runtime_static, compiler_static, tilec, tilerun\""
    rm -rf components
    touch source/scale.tl
    package_build >again 2>&1
    ok 'a kernel that changes is compiled again' grep 'tilec scale.tl' again
    # pkg-config
    ok 'pkg-config: the kernel' package_header
    rpath=-Wl,-rpath,$lib
    ok 'pkg-config, C11' package_pc pc_c runtime app.c gcc -std=c11 "$rpath"
    ok 'pkg-config, C++17' package_pc pc_cxx runtime app.c g++ -std=c++17 "$rpath" -x c++
    ok 'pkg-config, the archive' package_pc_static pc_static runtime app.c gcc -std=c11
    ok 'pkg-config, compiler' package_pc pc_compile compiler compile.c gcc -std=c11 "$rpath"
    for app in "${package_programs[@]}"; do
        ok "$app runs on the CPU" outside/$app cpu
        ok "$app needs no LLVM" sh -c "ldd outside/$app; ! ldd outside/$app | grep -iE 'llvm|tile_compiler'"
    done
    for app in app_static pc_static; do
        ok "$app has the runtime inside" sh -c "! ldd outside/$app | grep tile_"
    done
    for app in compile_c pc_compile; do
        ok "$app compiles" sh -c "outside/$app source/scale.tl | cmp - scale.ptx"
    done
    for app in "${package_programs[@]}"; do
        ok "$app runs on a GPU, or it is clear why not" sh -c "outside/$app cuda >on_gpu 2>&1 || {
            cat on_gpu; grep -q '^no device: ' on_gpu; }"
    done
}

# A loader that looks into the folders named in `searched`; what is asked of it besides is in `called`.
mkdir loader
cat >loader/ldconfig <<'SH'
#!/bin/sh
here=$(dirname "$0")
case "$*" in
'-N -X -v') sed 's/$/: (from here)/' "$here/searched" ;;
*) echo "ldconfig $*" >>"$here/called" && [ ! -e "$here/refuses" ] ;;
esac
SH
chmod +x loader/ldconfig
# installs WORDS…: says WORDS at the end; `called` is what was called
installs() {
    rm -f loader/called
    PATH=$work/loader:$PATH cmake --install "$build" --prefix "$work/first" >said &&
        tail -n 1 said | grep -E "$*" && touch loader/called
}
echo /elsewhere >loader/searched
ok 'cmake --install elsewhere' installs "LD_LIBRARY_PATH=$work/first/lib"
ok 'leaves the loader alone' test ! -s loader/called
printf '/elsewhere\n%s\n' "$work/first/lib" >loader/searched
ok 'cmake --install where the loader looks' installs "Up-to-date|Installing"
ok 'calls ldconfig' grep -qx 'ldconfig ' loader/called
touch loader/refuses
ok 'cmake --install where it may not' installs 'ldconfig has been run as root'
rm -r loader/refuses loader/called
ok 'cmake --install under DESTDIR' env DESTDIR="$work/staged" PATH="$work/loader:$PATH" \
    cmake --install "$build" --prefix "$work/first"
ok 'leaves the loader alone, too' test ! -e loader/called
rm -rf staged first

ok 'cmake --install' cmake --install "$build" --prefix "$work/first"
mv first moved # a package may be anywhere
checks "$work/moved"
ok 'link with the archives alone' package_pc_static compile_static compiler compile.c gcc -std=c11 -fuse-ld=lld
ok 'which compiles' sh -c "outside/compile_static source/scale.tl | cmp - scale.ptx"

if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
    ok 'cpack -G DEB' sh -c "cd '$build' && cpack -G DEB -B '$work/deb'"
    ok 'the .deb needs two packages' sh -c "dpkg-deb -f deb/*.deb Depends | grep -xE 'libc6 [^,]*, libjansson4 [^,]*'"
    ok 'the .deb calls ldconfig' sh -c "dpkg-deb -I deb/*.deb postinst | grep ldconfig"
    ok 'the .deb unpacks' dpkg-deb -x deb/*.deb unpacked
    ok 'the .deb holds what is installed' sh -c "
        (cd moved && find . ! -type d | sort) >a; (cd unpacked/usr && find . ! -type d | sort) >b; diff a b"
    checks "$work/unpacked/usr"
    if [ "$(id -u)" -eq 0 ]; then
        # dpkg itself, with a database of its own; what it would call (ldconfig) is not in that root
        mkdir -p fresh/var/lib/dpkg/{info,updates,triggers} && touch fresh/var/lib/dpkg/{status,available}
        ok 'dpkg unpacks it' dpkg --root="$work/fresh" --force-depends --unpack deb/*.deb
        ok 'dpkg knows its files' sh -c "dpkg --root='$work/fresh' -L tilec | grep -x /usr/bin/tilec"
        ok 'it runs where dpkg put it' fresh/usr/bin/tilec --version
    fi
fi

finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# package_test.sh: what cmake --install and cpack give works outside the tree: a project in C11 and
# C++17 built by find_package and by pkg-config, moved and run; soname, versioned symbols, nothing
# shown but tile.h; manuals and completions in place; the licences of all that is linked in; .debs that
# hold the same, are as dpkg and lintian want them, are installed, used and purged; RPMs, where there is rpmbuild.
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

# licences FILE LIB KIND: a copyright file is in Debian's format, names every library that the .pc files of
# LIB link in, with its licence, and has the text of each licence; that of Apache may be Debian's (KIND is deb)
licences() {
    local file=$1 kind=$3 entry library licence
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
    if [ "$kind" = deb ]; then
        ok 'copyright: Debian has the licence' sh -c "
            awk -v RS= '/^License: Apache-2.0 with LLVM/ { print; exit }' '$file' |
            grep -F common-licenses/Apache-2.0 && test -f /usr/share/common-licenses/Apache-2.0"
        ok 'copyright: the whole of the exception' sh -c "
            awk -v RS= '/^License: Apache-2.0 with LLVM/ { print; exit }' '$file' | sed 's/^ \.\$//; s/^ //' |
            sed -n '/^---- LLVM/,\$p' >exception
            sed -n '/^---- LLVM/,\$p' '$tree/LICENSE' | diff -B exception -"
    else
        ok 'copyright: the whole of LICENSE' sh -c "
        awk -v RS= '/^License:/ { print; exit }' '$file' | sed '1d; s/^ \.\$//; s/^ //' | diff -B - '$tree/LICENSE'"
    fi
    # each -l that is not glibc's
    sed -n 's/^Libs.private: *//p' "$2"/pkgconfig/tile-*.pc | tr ' ' '\n' |
        sed -n 's/^-lLLVM.*/llvm/p; t; s/^-lz$/zlib/p; t; s/^-l//p' | grep -vxE 'dl|m|pthread' | sort -u >linked
    ok 'LLVM is linked in' grep -x llvm linked
    while read -r library; do
        ok "copyright: $library is named" grep -F "$library/* " named
    done <linked
}

# checks PREFIX KIND: everything of a package that lies there; KIND is `prefix`, or `deb`, whose libraries
# lie where Debian's loader looks
checks() {
    local at=$1 kind=$2 lib=$1/lib app
    [ "$kind" = prefix ] || lib=$1/lib/$triplet
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
        ok "manual page of $program" sh -c "zcat -f '$at/share/man/man1/$program'.1* | grep '^.SH OPTIONS'"
        ok "completion of $program" grep -q "^complete -F _$program" \
            "$at/share/bash-completion/completions/$program"
        ok "zsh completion of $program" sh -c "cat $at/share/zsh/*/_$program | grep '^#compdef $program'"
    done

    [ "$kind" = deb ] || ok 'LICENSE' cmp "$tree/LICENSE" "$at/share/doc/tilec/LICENSE"
    licences "$at/share/doc/tilec/copyright" "$lib" "$kind"

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
checks "$work/moved" prefix
ok 'link with the archives alone' package_pc_static compile_static compiler compile.c gcc -std=c11 -fuse-ld=lld
ok 'which compiles' sh -c "outside/compile_static source/scale.tl | cmp - scale.ptx"


# ---- packages ----
version=$(sed -n 's/^project(tilec VERSION \([0-9.]*\).*/\1/p' "$tree/CMakeLists.txt")
kib_of() { # PACKAGE: what its files take, counted as dpkg-gencontrol does
    dpkg-deb -c "$1" | awk '$6 != "./" { n += $1 ~ /^-/ ? int(($3 + 1023) / 1024) : 1 } END { print n }'
}
# deb NAME: what each package has
deb() {
    local name=$1 file control
    file=$(echo deb/"$name"_*.deb)
    control=$(dpkg-deb -f "$file")
    ok "$name: version" grep -qx "Version: $version-1" <<<"$control"
    ok "$name: installed size" test "$(sed -n 's/^Installed-Size: //p' <<<"$control")" = "$(kib_of "$file")"
    ok "$name: copyright" sh -c "dpkg-deb -c $file | grep -F './usr/share/doc/$name/copyright'"
    ok "$name: no scripts" sh -c "dpkg-deb --ctrl-tarfile $file | tar -t | sort >script; ! grep -E 'inst|rm' script"
    ok "$name: unpacks" dpkg-deb -x "$file" unpacked
}
# deb_library PART: its soname, the name of its package and what others must depend on have one number
deb_library() {
    local name file soname
    soname=$(readelf -d "unpacked/usr/lib/$triplet/libtile_$1.so.1" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
    name=libtile-$1${soname##*.so.}
    file=$(echo deb/"$name"_*.deb)
    ok "$name holds $soname" sh -c "dpkg-deb -c '$file' | grep -F './usr/lib/$triplet/$soname '"
    ok "$name: shlibs" sh -c "dpkg-deb -I '$file' shlibs | grep -x 'libtile_$1 ${soname##*.so.} $name (>= $version-1)'"
    ok "$name: the loader is told" sh -c "dpkg-deb -I '$file' triggers | grep -x 'activate-noawait ldconfig'"
    ok "$name: beside other architectures" sh -c "dpkg-deb -f '$file' Multi-Arch | grep -x same"
}
# In a namespace whose /usr, /etc and /var are copies on write, so that dpkg itself may install and purge.
cat >really <<'SH'
set -eu
mkdir over && mount -t tmpfs none over || exit 77
for at in usr etc var; do
    mkdir -p "over/$at" "over/$at.work"
    mount -t overlay overlay -o "lowerdir=/$at,upperdir=$PWD/over/$at,workdir=$PWD/over/$at.work" "/$at" || exit 77
done
dpkg --purge --force-depends libtile-dev libtile-runtime1 libtile-compiler1 tilec 2>/dev/null || true
dpkg -i deb/*.deb
dpkg --audit
. source/build.sh
unset PKG_CONFIG_PATH LD_LIBRARY_PATH LDFLAGS
cd app
cp -r ../source .
mkdir outside
package_header # by the tilec that pkg-config names
package_pc app runtime app.c gcc -std=c11
package_pc compile compiler compile.c gcc -std=c11
cmake -S source -B cmade
cmake --build cmade
tilec --version
for app in outside/app cmade/app_c; do
    ldd "$app" | grep -F "=> /lib/$1/libtile_runtime.so.1 "
    "$app" cpu
done
outside/compile source/scale.tl | cmp - ../scale.ptx
cd ..
dpkg --purge tilec libtile-dev libtile-runtime1 libtile-compiler1
dpkg -L tilec 2>/dev/null && exit 1
find /usr /etc /var/lib/dpkg -newer really -name '*tile[-_cr]*' | grep . && exit 1
! ldconfig -p | grep libtile_
SH

triplet=
if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
    triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
    ok 'cpack -G DEB' sh -c "cd '$build' && cpack -G DEB -B '$work/deb'"
    rm -rf deb/_CPack_Packages
    for name in libtile-runtime1 libtile-compiler1 libtile-dev tilec; do deb $name; done
    ok 'four packages' test "$(echo deb/* | wc -w)" = 4
    for part in runtime compiler; do deb_library $part; done
    ok 'the runtime needs two packages' sh -c \
        "dpkg-deb -f deb/libtile-runtime1_*.deb Depends | grep -xE 'libc6 [^,]*, libjansson4 [^,]*'"
    ok 'the programs say nothing of where libraries are' sh -c \
        "! readelf -d unpacked/usr/bin/tilec unpacked/usr/bin/tilerun | grep -E 'R(UN)?PATH'"
    # paths of what is installed, as a .deb has them
    here=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:PATH=//p' "$build/CMakeCache.txt")
    ok 'the .debs hold what is installed' sh -c "
        (cd moved && find . ! -type d | grep -v '/tilec/LICENSE\$') |
            sed 's#^\./$here/#./lib/$triplet/#; s#/man1/.*#&.gz#' | sort >a
        (cd unpacked/usr && find . ! -type d | grep -vE '/changelog.Debian.gz\$|doc/lib.*/copyright\$') | sort >b
        diff a b"
    export LD_LIBRARY_PATH=$work/unpacked/usr/lib/$triplet
    checks "$work/unpacked/usr" deb
    unset LD_LIBRARY_PATH
    mkdir app
    user=-r
    [ "$(id -u)" -ne 0 ] || user=
    unshare $user -m bash really "$triplet" >"$work/log" 2>&1
    rc=$?
    ! grep -q '^unshare: ' "$work/log" || rc=77 # no namespaces here
    [ $rc -ne 77 ] || echo "package: nothing was installed for real: $(tail -n 1 "$work/log")"
        count $rc 'dpkg installs, a program uses and dpkg purges them' "$work/log"
    if command -v lintian >/dev/null; then
        ok 'lintian finds no errors' lintian --allow-root --fail-on error deb/*.deb
    else
        echo 'package: lintian is not installed, which would check the .debs'
        skip
    fi
fi

ok 'cpack of another kind says what there is' sh -c "
    ! (cd '$build' && cpack -G TGZ -B '$work/tgz') >said 2>&1 &&
        tr -s '\n ' ' ' <said | grep -F 'cpack makes DEB and RPM: cpack -G DEB; \`cmake --install\` puts files anywhere else'"

if command -v rpmbuild >/dev/null; then
    ok 'cpack -G RPM' sh -c "cd '$build' && cpack -G RPM -B '$work/rpm'"
    rm -rf rpm/_CPack_Packages
    for name in libtile-runtime1 libtile-compiler1 libtile-devel tilec; do
        file=$(echo rpm/$name-[0-9]*.rpm)
        ok "$name: version" test "$(rpm -qp --qf '%{NAME} %{VERSION}-%{RELEASE}' "$file")" = "$name $version-1"
        ok "$name: licence" sh -c "rpm -qpl '$file' | grep -x '/usr/share/licenses/$name/LICENSE'"
    done
    for part in runtime compiler; do
        ok "libtile-${part}1 has the library" sh -c \
            "rpm -qp --provides rpm/libtile-${part}1-*.rpm | grep -F 'libtile_$part.so.1()(64bit)'"
        ok "libtile-${part}1 lies in lib64" sh -c \
            "rpm -qpl rpm/libtile-${part}1-*.rpm | grep -x '/usr/lib64/libtile_$part.so.1'"
        ok "tilec needs it" sh -c "rpm -qp --requires rpm/tilec-*.rpm | grep -F 'libtile_$part.so.1()(64bit)'"
        ok "libtile-devel names it" sh -c "rpm -qp --requires rpm/libtile-devel-*.rpm | grep -x 'libtile-${part}1 = $version-1'"
    done
    if [ "$(id -u)" -eq 0 ]; then
        ok 'rpm installs them' rpm --root "$work/other" --nodeps --noscripts -i rpm/*.rpm
        ok 'a program runs where rpm put it' sh -c "
            LD_LIBRARY_PATH='$work/other/usr/lib64' other/usr/bin/tilec -Wno-perf source/scale.tl -o - | cmp - scale.ptx"
        export PKG_CONFIG_PATH=$work/other/usr/lib64/pkgconfig LD_LIBRARY_PATH=$work/other/usr/lib64
        ok 'pkg-config of the RPMs' package_pc pc_rpm runtime app.c gcc -std=c11
        ok 'and what it makes' outside/pc_rpm cpu
        unset PKG_CONFIG_PATH LD_LIBRARY_PATH
    fi
    ok 'no RPM takes folders of others' sh -c "! rpm -qpl rpm/*.rpm | grep -xE '/usr/(lib64|share)(/(cmake|man|man/man1|zsh))?'"
else
    echo 'package: rpmbuild is not installed, which would make the RPMs'
    skip
fi

finish

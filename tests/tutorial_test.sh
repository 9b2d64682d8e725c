#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tutorial_test.sh: docs/tutorial.md as its reader follows it, word for word, in one shell that has a home
# and nothing else; each step takes less than 30 s. tests/fresh_test.sh does the same on a fresh Debian.
# Usage: tutorial_test.sh BUILD-FOLDER [user|root]    installed into a folder of his own and, as root of a
#                                                     namespace of its own, into /usr/local; needs no GPU
#        tutorial_test.sh --device=cuda|cpu FOLDER    nothing is installed: FOLDER is what scripts/stage made, on a
#                                                     machine that has a driver, or none; steps whose tools
#                                                     (gcc, pkg-config, cmake) are not there are passed over
set -u
tree=$(realpath "$(dirname "$0")/..")
. "$tree/tests/lib.sh"
. "$tree/tests/pages.sh"
device= as=
case ${1:-} in
--device=cuda | --device=cpu) device=${1#*=} build=$(realpath "$2") ;;
--*) echo "tutorial_test.sh: $1 is not --device=cuda or --device=cpu" >&2 && exit 2 ;;
*) build=$(realpath "$1") as=${2:-user} ;;
esac
cd "$tree" || exit 1
checks=false

# What an install there would change of this machine is a copy; exit code 77 where that cannot be made.
if [ "$as" = root ]; then
    tools=$(command -v cmake gcc pkg-config ldconfig)
    mkdir "$work/etc"
    cp -a /etc/. "$work/etc" 2>/dev/null
    mount --bind "$work/etc" /etc && mount -t tmpfs none /usr/local || exit 77
    mkdir -p /var/cache/ldconfig && mount -t tmpfs none /var/cache/ldconfig || exit 77
    for tool in $tools; do [ -x "$tool" ] || exit 77; done # it was in /usr/local
fi

home=$work/home start=$work/sources
mkdir "$home" "$start"
ln -s "$build" "$start/build"
if [ -z "$device" ]; then
    page_shell=(env -i HOME="$home" PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 bash)
else
    page_shell=(env HOME="$home" PATH="$build/bin:$PATH" PKG_CONFIG_PATH="$build/lib/pkgconfig"
        CMAKE_PREFIX_PATH="$build" LD_LIBRARY_PATH="$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" bash)
    # needs TOOL PROGRAM: without it that program of the page is not made
    needs() { command -v "$1" >/dev/null || lacking+="${lacking:+|}$1|\\./$2"; }
    needs gcc '(add|multiply)'
    needs pkg-config add
    needs cmake multiply
    command -v make >/dev/null || export CMAKE_GENERATOR=Ninja
fi
printf 'kernel @k() num_warps=1 num_stages=1 {\n  return\n}\n' >"$work/probe.tir"
"$build/bin/tilerun" --device=cuda --grid=1 "$work/probe.tir" >/dev/null 2>&1 && has_gpu=true
# Where there is none, that is said at once.
no_gpu() {
    local began=$SECONDS
    ok "$1 fails without a GPU" timed 'no GPU' "$1" "$3" shell_fails "$2" "$3"
    ok "$1 says that there is none" grep -qE '^(tilerun: )?no device: ' "$work/printed"
    ok "$1 does not take long" test $((SECONDS - began)) -le 5
}
[ "$device" != cuda ] || ok 'there is a GPU' $has_gpu
run_page docs/tutorial.md "$start"
quick_steps 30
[ -z "$device" ] || { finish; exit; }

# What starts with nothing set, as the page says.
bare() { env -i HOME="$home" PATH=/usr/bin:/bin "$@"; }
files=$home/first-kernels prefix=$home/tilec
[ "$as" = user ] || prefix=/usr/local
ok 'tilec alone' bare "$prefix/bin/tilec" --version
ok 'tilerun alone' bare "$prefix/bin/tilerun" --version
ok 'what CMake built, alone' bare sh -c "cd '$files/out' && ./multiply cpu"
if [ "$as" = root ]; then
    ok 'what was linked by hand, alone' bare sh -c "cd '$files' && ./add cpu"
else
    cat >"$work/rpath" <<'SH'
cd ~/first-kernels
gcc add.c $(pkg-config --cflags --libs tile-runtime) -Wl,-rpath,$(pkg-config --variable=libdir tile-runtime) -o add_rpath
SH
    ok 'linked with the folder inside' bare PKG_CONFIG_PATH="$prefix/lib/pkgconfig" bash -eu "$work/rpath"
    ok 'alone' bare sh -c "cd '$files' && ./add_rpath cpu"
    unshare -rm "$0" "$build" root >"$work/as_root" 2>&1
    rc=$?
    ! grep -q '^unshare: ' "$work/as_root" || rc=77 # no namespaces here
    count $rc 'as root, into /usr/local' "$work/as_root"
fi

finish

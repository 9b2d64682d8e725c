#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fresh_test.sh: docs/tutorial.md followed word for word on a Debian 12 that has just been made and has nothing
# but its base: from its first line, with the packages of a build or, for `sources`, from the sources, to its
# last. A table says what each step took; but for those that install, none takes 30 s. Then the packages are
# purged, and pip installs the wheel into an environment of its own, where NumPy's arrays go through a kernel.
# Needs root, debootstrap and Debian's mirror, for NumPy also PyPI; no GPU.
# Usage: fresh_test.sh BUILD-FOLDER (of the release preset) [packages|sources]
set -u
tree=$(realpath "$(dirname "$0")/..")
if [ "${3:-}" != in ]; then # in a namespace of its own, with which its mounts go
    lacks() { echo "fresh: $1" && exit 77; }
    command -v debootstrap >/dev/null || lacks "debootstrap is not installed, which makes a fresh Debian"
    [ "$(id -u)" -eq 0 ] || lacks "only root makes a fresh Debian"
    box=$(mktemp -d)
    trap 'rm -rf "$box"' EXIT
    echo "making a fresh Debian…"
    debootstrap --variant=minbase bookworm "$box/root" >"$box/log" 2>&1 ||
        lacks "debootstrap makes no Debian: $(tail -n 1 "$box/log")"
    unshare -m "$0" "$1" "${2:-packages}" in "$box/root"
    exit
fi
build=$(realpath "$1") root=$4
. "$tree/tests/lib.sh"
. "$tree/tests/pages.sh"
cd "$tree" || exit 1
checks=false as=$2
home=/reader # of who follows the page
mkdir "$root$home"

# A machine has these two; the mirror with repairs is beside that of the release.
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"
sed -i 'p; s#/debian bookworm main#/debian-security bookworm-security main#' "$root/etc/apt/sources.list"
for f in /etc/apt/apt.conf.d/*proxy*; do [ ! -f "$f" ] || cp "$f" "$root/etc/apt/apt.conf.d/"; done
mkdir -p "$root$work" && mount --bind "$work" "$root$work" # where blocks lie, and what they print

mapfile -t proxies < <(env | grep -iE '^(https?|no)_proxy=')
not() { ! "$@"; }
# inside FOLDER COMMAND…: there, as root after a login
cat >"$work/inside" <<SH
#!/bin/bash
exec chroot '$root' env -i HOME=$home PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    ${proxies[*]@Q} bash -c 'cd "\$0" && exec "\$@"' "\$@"
SH
chmod +x "$work/inside"
inside() { "$work/inside" "$@"; }
case $as in
packages)
    mkdir "$root$home/packages"
    ok 'cpack -G DEB' sh -c "cd '$build' && cpack -G DEB -B '$work/deb' && cp '$work'/deb/*.deb '$root$home/packages'"
    start=$home/packages
    ;;
sources)
    as='sources packages'
    git -C "$tree" archive --prefix=sources/ HEAD | tar -x -C "$root$home" # as it is checked out
    start=$home/sources
    ;;
esac
page_shell=("$work/inside" $start bash)
no_gpu() {
    ok "$1 fails without a GPU" timed 'no GPU' "$1" "$3" shell_fails "$2" "$3"
    ok "$1 says that there is none" grep -qE '^(tilerun: )?no device: ' "$work/printed"
}
ok 'nothing of it is there' not inside / sh -c 'command -v tilec || command -v gcc || command -v cmake'
run_page docs/tutorial.md "$work"
quick_steps 30

# What starts with nothing set, and what is there for a reader.
ok 'what was linked by hand' inside $home/first-kernels ./add cpu
ok 'what CMake built' inside $home/first-kernels ./out/multiply cpu
for page in tilec.1 tilerun.1; do ok "manual $page" test -s "$root/usr/share/man/man1/$page.gz"; done
ok 'purged' inside / sh -c "apt-get purge -y tilec 'libtile-*'"
ok 'nothing is left' sh -c "! find '$root'/usr '$root'/etc -name '*tilec*' -o -name 'libtile*' -o -name tile.h | grep ."
ok 'the program misses its library, and says so' sh -c "
    chroot '$root' $home/first-kernels/add cpu 2>&1 | grep 'libtile_runtime.so.1: cannot open'"

# ---- the wheel, in an environment of its own ----
if [ "$as" = packages ] && [ -d "$build/python/tilec" ]; then
    ok 'scripts/wheel' scripts/wheel "$work/wheel"
    cp "$work"/wheel/*.whl "$root$home/"
    ok 'Python' inside / apt-get install -y python3-venv
    ok 'an environment' inside $home python3 -m venv try
    ok 'pip takes the wheel' inside $home sh -c 'try/bin/pip install --no-index tilec-*.whl'
    # NumPy comes from elsewhere: into the folder that the environment sees
    if python3 -m pip download -q --only-binary=:all: --python-version 3.11 -d "$work/numpy" numpy >"$work/log" 2>&1; then
        ok 'and NumPy' inside $home sh -c "try/bin/pip install --no-index '$work'/numpy/*.whl"
        # the first program of the page
        awk '/^```python host file=numpy_add.py/ { on = 1; next } /^```/ { on = 0 } on' docs/python.md >"$root$home/numpy_add.py"
        ok 'the page has it' test -s "$root$home/numpy_add.py"
        ok 'NumPy arrays go through a kernel' inside $home sh -c 'try/bin/python numpy_add.py | grep -x True'
    else
        echo "fresh: pip downloads no NumPy here: $(tail -n 1 "$work/log")"
        skip
    fi
fi

finish

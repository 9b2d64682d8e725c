#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# wheel_test.sh: scripts/wheel, twice with the same bytes; it needs glibc alone, as its name says which (and
# auditwheel finds nothing else, where it is installed); pip puts it into bare environments of each Python
# from 3.10 on that is here, where the package's tests pass with nothing else on the path; it is imported in
# 50 ms. Usage: wheel_test.sh BUILD-FOLDER (of the release preset)
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
. tests/lib.sh

if [ ! -d "$build/python/tilec" ]; then
    echo "wheel: the package was not built: there was no Python.h"
    exit 77
fi
ok 'scripts/wheel' scripts/wheel "$work/wheel"
ok 'scripts/wheel again' scripts/wheel "$work/again"
ok 'the same bytes' cmp "$work"/wheel/*.whl "$work"/again/*.whl
wheel=$(echo "$work"/wheel/*.whl)
case $wheel in
*/tilec-*-cp310-abi3-manylinux_2_[0-9]*_*.whl) pass ;;
*) fail "the name of the wheel: $wheel" ;;
esac

python3 -m zipfile -e "$wheel" "$work/inside"
find "$work/inside" -name '*.so*' >"$work/libraries"
ok 'it has a library' test -s "$work/libraries"
while read -r library; do
    ok "$(basename "$library") needs glibc alone" sh -c "
        readelf -d '$library' | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >needs; cat needs; test -s needs &&
        ! grep -vxE '(libc|libm|libdl|libpthread|ld-linux-[a-z0-9-]+)\.so\.[0-9]+' needs; rc=\$?; rm needs; exit \$rc"
done <"$work/libraries"
newest=$(xargs objdump -T <"$work/libraries" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
case $wheel in
*manylinux_2_"${newest#GLIBC_2.}"_*) pass ;;
*) fail "the name of the wheel says another glibc than $newest: $wheel" ;;
esac
# Debian 12 has 2.36, and Ubuntu 22.04 2.35.
[ "$(getconf GNU_LIBC_VERSION)" != 'glibc 2.36' ] || ok "Ubuntu 22.04 takes it" test "${newest#GLIBC_2.}" -le 35
if command -v auditwheel >/dev/null; then
    ok 'auditwheel agrees' sh -c "auditwheel show '$wheel' | tr '\n' ' ' >'$work/audit'; cat '$work/audit'
        grep -F 'platform tag: \"manylinux_2_${newest#GLIBC_2.}_' '$work/audit' &&
        ! grep -oE '[a-z0-9_+-]+\.so\.[0-9]+ with' '$work/audit' | grep -vE '^(libc|libm|libdl|libpthread|ld-linux-[a-z0-9-]+)\.'"
else
    echo 'wheel: auditwheel is not installed, which would look at it, too'
    skip
fi

# run PYTHON FILE…: with an environment that has no compiler and no library of ours
run() { env -i PATH=/nowhere HOME="$work" TILEC_CACHE="$work/cache" "$@"; }

cat >"$work/import.py" <<'EOF'
import subprocess, sys, time
took = []
for _ in range(9):
    # the processor's time: other tests run beside this one
    code = "import time; t = time.process_time(); import tilec; print(time.process_time() - t)"
    took.append(1e3 * float(subprocess.check_output([sys.executable, "-c", code])))
print(f"import: {sorted(took)[4]:.1f} ms of the processor")
sys.exit(min(took) > 50)
EOF

pythons=0
for version in '' 3.10 3.11 3.12 3.13 3.14; do
    python=python$version
    [ -n "$version" ] || python=python3
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || continue
    venv=$work/venv$version
    if ! "$python" -m venv "$venv" >"$work/log" 2>&1; then
        echo "wheel: $python makes no environments: $(tail -1 "$work/log")"
        skip
        continue
    fi
    pythons=$((pythons + 1))
    ok "$python: pip install" "$venv/bin/python" -m pip install -q --no-index --disable-pip-version-check "$wheel"
    cp tests/python/*.py "$work"/
    folder=$(run "$venv/bin/python" -c 'import os, tilec; print(os.path.dirname(os.path.dirname(tilec.__file__)))')
    case $folder in "$venv"*) pass ;; *) fail "$python imports $folder" ;; esac
    ok "$python: the tests" run "$venv/bin/python" "$work/run.py" "$folder"
    ok "$python: pip check" "$venv/bin/python" -m pip --disable-pip-version-check check
    ok "$python: pip uninstall" "$venv/bin/python" -m pip uninstall -qy tilec
    if [ -e "$folder/tilec/_tilec.abi3.so" ]; then fail "$python: files are left"; else pass; fi
    "$venv/bin/python" -m pip install -q --no-index --disable-pip-version-check "$wheel"
    ok "$python: the time to import" run "$venv/bin/python" "$work/import.py"
    cat "$work/log"
done
[ $pythons -gt 0 ] || skip
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# wheel_test.sh: scripts/wheel, twice with the same bytes; pip puts it into bare environments of each Python
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

# run PYTHON FILE…: with an environment that has no compiler and no library of ours
run() { env -i PATH=/nowhere HOME="$work" TILEC_CACHE="$work/cache" "$@"; }

cat >"$work/import.py" <<'EOF'
import subprocess, sys, time
took = []
for _ in range(9):
    code = "import time; t = time.perf_counter(); import tilec; print(time.perf_counter() - t)"
    took.append(1e3 * float(subprocess.check_output([sys.executable, "-c", code])))
print(f"import: {sorted(took)[4]:.1f} ms")
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

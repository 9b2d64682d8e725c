#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# recipes_test.sh: what others build this tree by. packaging/conda: its version, options and target are those of
# the tree, build.sh configures with LLVM in a prefix, and the tests of meta.yaml pass with what is installed.
# .github/workflows/ci.yml runs .ci/run, and its commands are shell. YAML is read where Python has yaml and jinja2.
# Usage: recipes_test.sh BUILD-FOLDER (of the release preset)
set -u
build=$(realpath "$1")
tree=$(realpath "$(dirname "$0")/..")
. "$tree/tests/lib.sh"
cd "$work" || exit 1
recipe=$tree/packaging/conda

# ---- build.sh, whose cmake configures, and says what it would build and install ----
real=$(command -v cmake)
mkdir -p bin prefix/bin source
cat >bin/cmake <<SH
#!/bin/sh
[ "\$1" = -G ] || { echo "\$*" >>'$work/called' && exit; }
exec '$real' "\$@"
SH
chmod +x bin/cmake
ln -s "$(sed -n 's/^LLVM_CONFIG_[0-9]*:FILEPATH=//p' "$build/CMakeCache.txt")" prefix/bin/llvm-config
for f in "$tree"/*; do [[ $f == */build* ]] || ln -s "$f" source/; done
ok 'build.sh' sh -c "cd source && PATH='$work/bin':\$PATH PREFIX='$work/prefix' CPU_COUNT=3 '$recipe/build.sh'"
cache=source/build-conda/CMakeCache.txt
ok 'LLVM is the one of the prefix' grep -x "TILE_LLVM_CONFIG:[A-Z]*=$work/prefix/bin/llvm-config" $cache
ok 'no option is unknown' sh -c "! grep -E '^TILE_[A-Z_]*:UNINITIALIZED=' $cache"
ok 'its steps' diff called - <<'TEXT'
--build build-conda --target package_files --parallel 3
--install build-conda
TEXT
ok 'its target' sh -c "ninja -C source/build-conda -t targets all | grep '^package_files:'"
ok 'LLVM is linked as a shared library' grep -E 'libtile_compiler.*-lLLVM' -r source/build-conda/package source/build-conda/build.ninja

# ---- meta.yaml, ci.yml ----
version=$(sed -n 's/^project(tilec VERSION \([0-9.]*\).*/\1/p' "$tree/CMakeLists.txt")
llvm=$(sed -n 's/^set(TILE_LLVM_VERSION \([0-9]*\) CACHE.*/\1/p' "$tree/CMakeLists.txt")
ok "meta.yaml: version $version" grep -xF "{% set version = \"$version\" %}" "$recipe/meta.yaml"
ok "meta.yaml: LLVM $llvm" grep -xF "{% set llvm = \"$llvm\" %}" "$recipe/meta.yaml"
cat >read.py <<'PY'
import sys
try:
    import jinja2
    import yaml
except ImportError as e:
    sys.exit(print(e) or 77)
meta, workflow = sys.argv[1:]
# conda's functions, and its selectors, which are comments of YAML
text = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(open(meta).read()).render(
    compiler=lambda language: f"{language}_linux-64", stdlib=lambda language: f"{language}_stdlib_linux-64")
recipe = yaml.safe_load(text)
assert recipe["package"]["name"] == "tilec" and set(recipe["requirements"]) == {"build", "host", "run"}
assert recipe["source"] == {"path": "../.."} and recipe["about"]["license_file"] == "LICENSE"
with open("files", "w") as f:
    print(*recipe["test"]["source_files"], sep="\n", file=f)
for n, command in enumerate(recipe["test"]["commands"]):
    with open(f"conda-{n}.command", "w") as f:
        print(command, file=f)

jobs = yaml.safe_load(open(workflow))["jobs"]
runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
assert ".ci/run" in runs
for n, command in enumerate(runs):
    with open(f"ci-{n}.command", "w") as f:
        print(command, file=f)
PY
python3 read.py "$recipe/meta.yaml" "$tree/.github/workflows/ci.yml" >"$work/log" 2>&1
rc=$?
count $rc 'meta.yaml and ci.yml' "$work/log"
if [ $rc = 77 ]; then
    echo "recipes: meta.yaml and ci.yml are not read: $(cat "$work/log")"
elif [ $rc = 0 ]; then
    ok 'cmake --install' cmake --install "$build" --prefix "$work/installed"
    while read -r file; do
        ok "meta.yaml: $file" test -f "$tree/$file"
        mkdir -p "test/$(dirname "$file")" && cp "$tree/$file" "test/$file"
    done <files
    for f in conda-*.command; do
        ok "meta.yaml: $(cat "$f")" sh -c "cd test && PREFIX='$work/installed' PATH='$work/installed/bin':\$PATH \
            PKG_CONFIG_PATH='$work/installed/lib/pkgconfig' bash -eu -o pipefail '../$f'"
    done
    for f in ci-*.command; do
        ok "ci.yml: $(head -n 1 "$f")" sh -n "$f"
        for program in $(grep -oE '(^|[ (])(scripts|\.ci)/[a-z]+' "$f" | tr -d ' ('); do
            ok "ci.yml: $program" test -x "$tree/$program"
        done
    done
fi

finish

#!/bin/bash
# readme_test.sh: what README.md and docs/ say can be done: every file they name exists, the kernel
# and the commands of README.md work as they stand, and docs/ made from tables are up to date.
# Usage: readme_test.sh BUILD-FOLDER (README.md speaks of build/)
set -u
build=$(realpath "$1")
tree=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$tree"
passed=0 failed=0

ok() {
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "readme: $name:"
        tail -15 "$work/log"
    fi
}

# Names in backquotes that look like paths of this tree.
for page in README.md docs/*.md; do
    for path in $(grep -oE '`[a-z_.]+/[A-Za-z0-9_./*-]+`' "$page" | tr -d '`' | grep -v '^build' | sort -u); do
        # shellcheck disable=SC2086 # a name may be a pattern
        ok "$page names $path" sh -c "ls -d $path"
    done
done

# The kernel in README.md (the first ```python block) and the tilec and tilerun lines (lines of sh
# blocks that start with build/bin/) in a folder where the kernel has been saved as it says.
mkdir "$work/run"
awk '/^```python/ { on = 1; next } /^```/ { if (on) exit } on' README.md >"$work/run/add.tl"
ln -s "$build" "$work/run/build"
ln -s "$tree/examples" "$work/run/examples"
awk '/^```sh/ { on = 1; next } /^```/ { on = 0 } on && /^build\/bin\//' README.md >"$work/commands"
ok 'it has a kernel' grep -q 'def ' "$work/run/add.tl"
ok 'it has commands' test -s "$work/commands"
while read -r line; do
    ok "$line" sh -c "cd '$work/run' && $line" </dev/null
done <"$work/commands"

ok 'docs made from tables' scripts/gen-docs --check

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

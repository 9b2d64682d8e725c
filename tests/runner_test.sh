#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# runner_test.sh: tile-test must fail what should fail: each case is a small test file and the
# verdict it has to get. Usage: runner_test.sh PATH-TO-tile-test
set -u
runner=$(realpath "$1")
. "$(dirname "$0")/lib.sh"
mkdir "$work/tools"

# The tool under test: prints its words, one a line; `exit N` and `touch FILE`, `write FILE TEXT` do that.
cat > "$work/tools/say" <<'TOOL'
#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in
    exit) exit "$2" ;;
    touch) : > "$2"; shift ;;
    write) echo "$3" > "$2"; shift 2 ;;
    *) echo "$1" ;;
    esac
    shift
done
TOOL
chmod +x "$work/tools/say"

# verdict NAME pass|fail|skip, the test file on standard input
verdict() {
    cat > "$work/$1.test"
    last=$("$runner" --tools="$work/tools" "$work/$1.test" | tail -n 1)
    case "$2" in
    pass) want="1 passed, 0 failed" ;;
    fail) want="0 passed, 1 failed" ;;
    skip) want="0 passed, 0 failed, 1 skipped" ;;
    esac
    if [ "$last" = "$want" ]; then
        pass
    else
        fail "$1: '$last' where '$want' was due"
    fi
}

verdict plain pass <<'EOT'
# RUN: say one two 'three and four' five
# CHECK: one
# CHECK-NEXT: two
# CHECK: three   and {{f[a-z]+}}
# CHECK-NOT: six
EOT
verdict missing fail <<'EOT'
# RUN: say one two
# CHECK: three
EOT
verdict order fail <<'EOT'
# RUN: say one two
# CHECK: two
# CHECK: one
EOT
verdict next-is-later fail <<'EOT'
# RUN: say one two three
# CHECK: one
# CHECK-NEXT: three
EOT
verdict not-between fail <<'EOT'
# RUN: say one two three
# CHECK: one
# CHECK-NOT: two
# CHECK: three
EOT
verdict not-elsewhere pass <<'EOT'
# RUN: say two one three
# CHECK: one
# CHECK-NOT: two
# CHECK: three
EOT
verdict not-at-end fail <<'EOT'
# RUN: say one two
# CHECK: one
# CHECK-NOT: two
EOT
verdict count pass <<'EOT'
# RUN: say x x x
# CHECK-COUNT-3: x
EOT
verdict count-short fail <<'EOT'
# RUN: say x x
# CHECK-COUNT-3: x
EOT
verdict characters-are-plain fail <<'EOT'
# RUN: say abc
# CHECK: a.c
EOT
verdict exit-code pass <<'EOT'
# RUN: say exit 3
# EXIT: 3
EOT
verdict exit-unexpected fail <<'EOT'
# RUN: say exit 3
EOT
verdict exit-of-an-earlier-one fail <<'EOT'
# RUN: say exit 3
# RUN: say exit 3
# EXIT: 3
EOT
verdict skipped skip <<'EOT'
# RUN: say exit 77
EOT
verdict no-such-tool fail <<'EOT'
# RUN: sh -c true
EOT
verdict open-quote fail <<'EOT'
# RUN: say 'one
EOT
verdict misspelt-directive fail <<'EOT'
# RUN: say one
# CHECK-NXT: one
EOT
verdict diagnostics pass <<'EOT'
# RUN: say '%s:4:3: error: bad thing' '%s:3:1: perf: slow' '%s: error: odd' exit 1
# error@none: odd
second # perf: slow
third # error: bad
EOT
verdict diagnostic-elsewhere fail <<'EOT'
# RUN: say '%s:2:3: error: bad thing' exit 1
second
third # error: bad
EOT
verdict diagnostic-not-expected fail <<'EOT'
# RUN: say '%s:2:3: error: bad thing' '%s:3:1: error: another' exit 1
second # error: bad
third
EOT
verdict diagnostic-needs-failure fail <<'EOT'
# RUN: say '%s:2:3: error: bad thing'
second # error: bad
EOT
verdict relative-line pass <<'EOT'
# RUN: say '%s:2:3: error: bad thing' exit 1

# error@-1: bad
EOT
verdict exact pass <<'EOT'
# RUN: say one %t
# EXPECT:
# one
# %t
EOT
verdict exact-differs fail <<'EOT'
# RUN: say one two
# EXPECT:
# one
EOT
verdict temporary-file fail <<'EOT'
# RUN: say touch x.tmp
EOT
verdict hidden-file fail <<'EOT'
# RUN: say touch .x
EOT
verdict output-file pass <<'EOT'
# RUN: say touch x
EOT
verdict output-files-are-seen pass <<'EOT'
# RUN: say write b second write a first third
# CHECK: third
# CHECK-NEXT: first
# CHECK-NEXT: second
EOT
verdict output-of-a-failure fail <<'EOT'
# RUN: say touch x exit 1
# EXIT: 1
EOT

# --bless rewrites the block, and then the test passes.
printf '# RUN: say a b\n# EXPECT:\n# old\nrest\n' > "$work/bless.test"
"$runner" --bless --tools="$work/tools" "$work/bless.test" > /dev/null
printf '# RUN: say a b\n# EXPECT:\n# a\n# b\nrest\n' >"$work/blessed"
ok 'bless' cmp "$work/blessed" "$work/bless.test"
# No test at all is a failure.
mkdir "$work/empty"
if "$runner" "$work/empty" > /dev/null; then fail 'no test at all'; else pass; fi

finish

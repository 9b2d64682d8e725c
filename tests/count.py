#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""count.py JUNIT [ROWS]: what ctest wrote of its tests -> the ends of those that failed, the slowest ROWS (15)
and, as the last line, all that they checked: `N passed, N failed`, with `, N skipped` where something was.
Exit code 1 when something failed, or nothing passed.

A test says how much it checked in lines such as `12 passed, 0 failed` or Check's `100%: Checks: 12, …`; one that
says nothing is one check, and so is one that fails without saying what failed. Exit code 77 is one skipped."""
import re
import sys
import xml.etree.ElementTree as ElementTree

LINES = 100  # of a test that failed
OURS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", re.M)
CHECK = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)", re.M)


def counts(status, why, said):
    """(passed, failed, skipped) of one test; None for one that did not run, since what it needs had failed."""
    passed = failed = skipped = 0
    for p, f, s in OURS.findall(said):
        passed, failed, skipped = passed + int(p), failed + int(f), skipped + int(s or 0)
    for checks, failures, errors in CHECK.findall(said):
        bad = int(failures) + int(errors)
        passed, failed = passed + int(checks) - bad, failed + bad
    if status == "notrun" and "dependenc" in why:
        return None
    if status == "notrun" and why.startswith("SKIP_RETURN_CODE"):
        return passed, failed, 1
    if status != "run":
        return passed, failed or 1, skipped
    return passed + (passed + failed + skipped == 0), failed, skipped


def main():
    tests, idle, total = [], [], [0, 0, 0]
    for case in ElementTree.parse(sys.argv[1]).iter("testcase"):
        name, status, said = case.get("name"), case.get("status"), case.findtext("system-out") or ""
        skipped = case.find("skipped")
        n = counts(status, "" if skipped is None else skipped.get("message"), said)
        if n is None:
            idle.append(name)
            continue
        tests.append((float(case.get("time")), name, n))
        total = [a + b for a, b in zip(total, n)]
        if n[1]:
            print(f"\n---- {name} ----", *said.splitlines()[-LINES:], sep="\n")
    if idle:
        print(f"\n{len(idle)} not run, since what they need failed: {idle[0]}{', …' if idle[1:] else ''}")
    print("\nThe slowest:")
    for seconds, name, (passed, failed, skipped) in sorted(tests, reverse=True)[:int((sys.argv[2:] or ["15"])[0])]:
        print(f"{seconds:7.1f} s  {name:<44} {passed:6} passed, {failed} failed{f', {skipped} skipped' * (skipped > 0)}")
    print()
    passed, failed, skipped = total
    print(f"{passed} passed, {failed} failed{f', {skipped} skipped' * (skipped > 0)}")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())

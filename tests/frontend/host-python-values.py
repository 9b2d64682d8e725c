# What Python's functions and operators give outside kernels: each beside what CPython 3.11 gives.
# RUN: tilec --emit=tir %s -o -
import math

import triton
import triton.language as tl

NUMBERS = [
    (math.log10(1000.0), 3.0), (math.sqrt(2.25), 1.5), (math.exp(0.0), 1.0), (math.fabs(-2.5), 2.5),
    (math.log(8, 2), 3.0), (math.log(1), 0.0), (math.floor(-2.5), -3), (math.ceil(-2.5), -2), (math.trunc(-2.5), -2),
    (round(2.5), 2), (round(3.5), 4), (round(-2.5), -2), (round(7), 7),
    (divmod(-7, 2), (-4, 1)), (divmod(7, -2), (-4, -1)), (divmod(7.5, 2), (3.0, 1.5)), (divmod(-7.5, 2), (-4.0, 0.5)),
    (math.isnan(float("nan")), True), (math.isinf(float("-inf")), True), (math.isnan(1), False),
    (7.5 - 2, 5.5), (7 / 2, 3.5), (7.5 % 2, 1.5), (-7.5 % 2, 0.5), (7.5 % -2, -0.5), (2.0**3, 8.0), (2**-1, 0.5),
    (-7 // 2, -4), (-7 % 3, 2), (7 % -3, -2), (7.5 // 2, 3.0), (-7.5 // 2, -4.0), (-9 >> 2, -3), (1 << 5, 32),
    (not 0.0, True), (bool(0.5), True), (bool(0.0), False), (0.5 and 3, 3), (0.0 or 4, 4),
    ((255).bit_length(), 8), ((-256).bit_length(), 9), ((0).bit_length(), 0), (2**63, 9223372036854775808),
    (int(2.9), 2), (int(-2.9), -2), (pow(2, 5), 32), (math.gcd(12, 18), 6), (math.prod([2, 3, 4]), 24),
]  # fmt: skip
TEXTS = [
    ("  a b ".strip(), "a b"), ("12".isdigit(), True), ("".isdigit(), False), ("1a".isdigit(), False),
    ("banana".count("an"), 2), ("banana".startswith("ba"), True), ("banana".endswith("na"), True),
    ("banana".endswith("banananana"), False), ("an" in "banana", True), ("x" in "banana", False), ("" in "banana", True),
    ("banana"[1], "a"), ("banana"[-1], "a"), ("banana"[1:3], "an"), ("banana"[::-1], "ananab"), ("banana"[::2], "bnn"),
    ("-".join(["a", "b"]), "a-b"), ("a,b".split(","), ["a", "b"]), ("abc".replace("b", "xy"), "axyc"),
    ("a" < "b", True), (str(True), "True"), (str((1, "a")), "(1, 'a')"), ("{}-{}".format(1, 2), "1-2"),
    (str(1e5), "100000.0"), (str(1e15), "1000000000000000.0"), (str(1e16), "1e+16"), (str(1.5e16), "1.5e+16"),
    (str(0.0001), "0.0001"), (str(1e-5), "1e-05"), (str(1234567.25), "1234567.25"), (str(-0.0), "-0.0"),
    (str(0.1 + 0.2), "0.30000000000000004"), (str({"a": 1, "b": (2,)}), "{'a': 1, 'b': (2,)}"), (str({3}), "{3}"),
    (str(set()), "set()"), (str(slice(1, 2)), "slice(1, 2, None)"), (f"{1e5}", "100000.0"), (str(dict()), "{}"),
]  # fmt: skip
OTHERS = [
    (callable(len), True), (callable(3), False), (sorted([3, 1, 2], reverse=True), [3, 2, 1]),
    (sorted([-3, 1, 2], key=abs), [1, 2, -3]), (sorted([-3, 1, 2], key=lambda x: -x, reverse=True), [-3, 1, 2]),
    (len({1, 2} | {2, 3}), 3), (2 in {1, 2}, True), ((1, 2, 3)[::-1], (3, 2, 1)), ((1, 2, 3)[-2:], (2, 3)),
    ({"a": 1}.copy(), {"a": 1}), (list({"a": 1, "b": 2}), ["a", "b"]), (dict({"a": 1}, b=2)["b"], 2),
    (slice(1, 2) == slice(1, 2), True), (slice(1, 2) == slice(1, 3), False), (len == len, True), (len == abs, False),
    (range(3) == range(0, 3), True), (range(3) == range(4), False), (range(0) == range(2, 1), True),
    (range(0, 3, 2) == range(0, 4, 2), True), (range(0, 1, 2) == range(0, 1, 3), True), (range(3, 0, -1) == range(3), False),
    ({"a": 1, "b": 2} == {"b": 2, "a": 1.0}, True), ({"a": 1} == {"a": 2}, False), ({"a": 1} == {"b": 1}, False),
    ({1: 2, 1.0: 3}, {1: 3}), ({1: 2}[1.0], 2), ({1: 2}.get(1.0), 2), (slice(0, 2) == slice(0.0, 2), True),
    (math.sqrt == math.sqrt, True), (tl.float32 == tl.float32, True),
    (tl.float32 == tl.float16, False), ((len, 1) == (len, 1), True), ((len, 1) == (abs, 1), False),
]  # fmt: skip


PLANTED = [(1, 2), (3, 4.0), (5, 5)]


@triton.constexpr_function
def wrong(which):
    pairs = (NUMBERS, TEXTS, OTHERS, PLANTED)[which]
    return [i for i, (got, want) in enumerate(pairs) if str(got) != str(want)]


@triton.constexpr_function
def grown():
    found = {1}
    found.update([2, 3])
    listed = [1]
    listed.extend((2, 3))
    listed += [4]
    return len(found) * 10 + len(listed)


@triton.jit
def kernel(p: "*i32"):
    tl.static_assert(len(wrong(0)) == 0, wrong(0))
    tl.static_assert(len(wrong(1)) == 0, wrong(1))
    tl.static_assert(len(wrong(2)) == 0, wrong(2))
    tl.static_assert(grown() == 34)
    tl.static_assert(len(wrong(3)) == 0, wrong(3))  # error: static assertion failed: (0, 1)
    tl.store(p, 1)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_types.py: the types of elements, a row each, and what signatures say of the leaves that _args.py finds."""

# tile_type, the language's name -> what arrays call it, what annotations may, the bytes of an element
_rows = """
i1      bool           1  i1 u1 int1 uint1
i8      int8           1  i8
i16     int16          2  i16
i32     int32          4  i32 int
i64     int64          8  i64
u8      uint8          1  u8
u16     uint16         2  u16
u32     uint32         4  u32
u64     uint64         8  u64
fp8e4nv float8_e4m3fn  1  fp8e4nv float8e4nv
fp8e5   float8_e5m2    1  fp8e5 float8e5
fp16    float16        2  fp16 half
bf16    bfloat16       2  bf16
fp32    float32        4  fp32 float
fp64    float64        8  fp64 double
"""
names, array_names, sizes = [""], [""], [0]  # by tile_type
of_array, annotations = {}, {}  # name -> tile_type
for _number, _row in enumerate(_rows.split("\n")[1:-1], 1):
    _name, _array_name, _size, *_others = _row.split()
    names.append(_name)
    array_names.append(_array_name)
    sizes.append(int(_size))
    of_array[_array_name] = _number
    for _other in [_array_name] + _others:
        annotations[_other] = _number
I1, I64 = annotations["i1"], annotations["i64"]


def is_float(number):
    return "float" in array_names[number]


def of_number(value):
    """The type of a parameter that gets a number of Python, as Triton has it."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "fp32"
    return "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"


def of_leaf(leaf):
    """The type of a parameter that gets a leaf: a number, (tile_type, number), or where a tensor's elements are."""
    if leaf is None:
        return "None"
    if not isinstance(leaf, tuple):
        return of_number(leaf)
    return names[leaf[0]] if len(leaf) == 2 else "*" + names[leaf[1]]


def promise_of(leaf):
    """What a signature promises of a leaf's value: ":16", ":1" or nothing."""
    number = leaf
    if isinstance(leaf, tuple):  # with a type that is said, 1 is no other number
        number = leaf[1] if len(leaf) == 2 and leaf[0] != I1 else leaf[0] if len(leaf) > 2 else None
    if isinstance(number, (bool, float)) or number is None:
        return ""
    if number == 1 and not isinstance(leaf, tuple):
        return ":1"
    return ":16" if number % 16 == 0 else ""


def of_tuple(parts, fields=None):
    """The text of a tuple, in a signature or as a constant."""
    if fields:
        parts = [f"{field}={part}" for field, part in zip(fields, parts)]
    return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"

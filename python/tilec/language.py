# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""language.py: the names of Triton's language, for editors, for annotations such as tl.constexpr, and so that
kernels find what they mean. A kernel's text is compiled; nothing here computes anything.
tests/python/test_language.py holds the list against the compiler's table."""
import sys
import types


class Name:
    """What a kernel uses by this name."""

    def __init__(self, path):
        self.path = path
        self.__name__ = path.rpartition(".")[2]

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"tl.{self.path} can be used in kernels only")

    def __repr__(self):
        return f"tl.{self.path}"


class dtype(Name):
    """The type of an element."""

    @property
    def name(self):
        return self.path


class constexpr:
    """A constant of kernels: as an annotation, a parameter that is one."""

    def __init__(self, value):
        self.value = value.value if isinstance(value, constexpr) else value

    def __repr__(self):
        return f"constexpr[{self.value!r}]"

    def __eq__(self, other):
        return self.value == (other.value if isinstance(other, constexpr) else other)

    def __hash__(self):
        return hash(self.value)

    def __index__(self):
        return self.value.__index__()

    def __bool__(self):
        return bool(self.value)


class const:
    """As an annotation: a pointer that is not written through."""


class _Module(types.ModuleType):
    """A part of the language, whose names the compiler knows."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Name(f"{self.__name__[len('tilec.language.'):]}.{name}")


def _module(path):
    full = f"{__name__}.{path}"
    sys.modules[full] = module = _Module(full)
    module.__path__ = []
    return module


math = _module("math")
extra = _module("extra")
extra.libdevice = _module("extra.libdevice")
extra.cuda = _module("extra.cuda")
extra.cuda.libdevice = _module("extra.cuda.libdevice")
target_info = _module("target_info")


class _Core(_Module):
    """What is known by tl.core, too."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(sys.modules[__name__], name)


sys.modules[f"{__name__}.core"] = core = _Core(f"{__name__}.core")

_dtypes = """
void int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float8e4nv float8e5 float8e4b15 float8e4b8
float8e5b16 float16 bfloat16 float32 float64
"""
_names = """
_argmax_combine _argmax_combine_tie_break_fast _argmax_combine_tie_break_left _argmin_combine
_argmin_combine_tie_break_fast _argmin_combine_tie_break_left _constexpr_to_value _elementwise_max
_elementwise_min _experimental_make_tensor_descriptor _is_power_of_two _log2 _or_combine _prod_combine
_sum_combine _unwrap_if_constexpr _xor_combine abs add advance aggregate_replace arange argmax argmin
associative_scan assume atomic_add atomic_and atomic_cas atomic_load atomic_max atomic_min atomic_or
atomic_poll atomic_store atomic_xchg atomic_xor bitonic_merge block_type broadcast broadcast_to cast cat cdiv
ceil clamp condition constexpr_type cos cumprod cumsum debug_barrier device_assert device_print div_rn dot
dot_scaled erf exp exp2 expand_dims expect_zero fdiv flip floor fma full gather get_int_dtype
get_primitive_bitwidth histogram inline_asm_elementwise interleave item join load load_tensor_descriptor log
log2 make_block_ptr make_tensor_descriptor map_elementwise max max_constancy max_contiguous maximum min
minimum mul multiple_of num_programs pair_uniform_to_normal permute philox philox_impl pointer_type program_id
rand rand4x randint randint4x randn randn4x range ravel reduce reduce_or reshape rsqrt sigmoid sin slice
softmax sort split sqrt sqrt_rn squeeze static_assert static_print static_range store store_tensor_descriptor
str_to_ty sub sum swizzle2d tensor tensor_descriptor tensor_descriptor_base to_tensor topk trans tuple
tuple_type uint_to_uniform_float umulhi unsqueeze view where xor_sum zeros zeros_like
"""
for _name in _dtypes.split():
    globals()[_name] = dtype(_name)
for _name in _names.split():
    globals()[_name] = Name(_name)
PropagateNan = Name("PropagateNan")
PropagateNan.NONE, PropagateNan.ALL = Name("PropagateNan.NONE"), Name("PropagateNan.ALL")
del _name

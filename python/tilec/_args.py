# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_args.py: an argument that is no number -> where its elements are, as _tilec's launch takes it:
(address, type, first byte, one past the last, bits), and the GPU's number; None: the host's memory."""
from . import _device, _tilec, _types

READ_ONLY, ON_HOST = 1, 2

_kinds = {"b": "bool", "i": "int", "u": "uint", "f": "float"}
_formats = {"?": "b", "b": "i", "h": "i", "i": "i", "l": "i", "q": "i", "n": "i", "B": "u", "H": "u", "I": "u",
            "L": "u", "Q": "u", "N": "u", "e": "f", "f": "f", "d": "f"}  # fmt: skip


def element_of(value):
    """The tile_type that a dtype of a library or of the language means; None: it is no dtype."""
    if hasattr(value, "shape") or isinstance(value, (str, bytes)):
        return None
    name = str(getattr(value, "name", None) or value)
    if type(value).__name__.lower() == "dtype" or "dtype" in type(value).__name__.lower() or hasattr(value, "itemsize"):
        return _types.of_array.get(name.rpartition(".")[2])
    return None


def _type(name, what):
    t = _types.of_array.get(name)
    if t is None:
        raise TypeError(f"{what}: a kernel has no elements of type {name}")
    return t


def _type_of(kind, size, what):
    return _type("bool" if kind == "b" and size == 1 else f"{_kinds.get(kind, kind)}{size * 8}", what)


def _span(address, shape, strides, size):
    """The first byte of all elements and one past the last. strides: in bytes; None: without gaps."""
    low = high = 0
    if strides is None:
        for n in shape:
            size *= n
        return address, address + size
    for n, stride in zip(shape, strides):
        if n == 0:
            return address, address
        if stride < 0:
            low += (n - 1) * stride
        else:
            high += (n - 1) * stride
    return address + low, address + high + size


def _from_interface(interface, what, name, bits):
    try:
        typestr, (address, read_only) = interface["typestr"], interface["data"]
        shape, strides = interface["shape"], interface.get("strides")
        address, digits = address or 0, typestr[2:]
        fits = address >= 0 and (strides is None or len(strides) == len(shape)) and min(shape, default=0) >= 0
    except (AttributeError, KeyError, TypeError, ValueError):
        fits = False
    if not fits:
        raise TypeError(f"{what}: what its array interface says is no memory: {str(interface)[:200]}")
    if not digits.isdigit():
        raise TypeError(f"{what}: a kernel has no elements of type '{typestr}'")
    size = int(digits)
    if typestr[0] == ">" and size > 1:
        raise TypeError(f"{what}: its bytes are in the other order")
    kind = _type(name, what) if name else _type_of(typestr[1], size, what)
    first, last = _span(address, shape, strides, size)
    if first < 0 or last >= 1 << 64:
        raise TypeError(f"{what}: its elements lie outside any memory, from {first} to {last}")
    return address, kind, first, last, bits | (READ_ONLY if read_only else 0)


def _dtype_name(value):
    dtype = getattr(value, "dtype", None)
    return str(getattr(dtype, "name", None) or dtype).rpartition(".")[2] if dtype is not None else None


def _device_index(value):
    device = getattr(value, "device", None)
    for name in ("index", "id"):
        n = getattr(device, name, None)
        if isinstance(n, int):
            return n
    ask = getattr(value, "__dlpack_device__", None)
    return int(ask()[1]) if ask else 0


def _from_torch(value, what):
    """PyTorch's tensors, and what is like them."""
    size = value.element_size()
    address = value.data_ptr()
    strides = [s * size for s in value.stride()]
    first, last = _span(address, tuple(value.shape), strides, size)
    kind = _type(_dtype_name(value), what)
    if value.device.type == "cpu":
        return (address, kind, first, last, ON_HOST), None
    if value.device.type != "cuda":
        raise TypeError(f"{what}: it is on device {value.device}")
    return (address, kind, first, last, 0), value.device.index or 0


def _from_buffer(view, what):
    kind = _formats.get(view.format.lstrip("@="))
    if kind is None:
        raise TypeError(f"{what}: a kernel has no elements of format '{view.format}'")
    if not view.c_contiguous:
        raise TypeError(f"{what}: a buffer with gaps; NumPy's arrays may have them")
    address, length, read_only = _tilec.address(view)
    kind = _type_of(kind, view.itemsize, what)
    return (address, kind, address, address + length, ON_HOST | (READ_ONLY if read_only else 0)), None


def _capsule(value):
    kind, index = value.__dlpack_device__()
    given = {}
    if int(kind) == 2:  # CUDA: the owner lets the stream of the launch wait; 1 is the default one
        given["stream"] = _device.current_stream(int(index)) or 1
    try:
        return value.__dlpack__(max_version=(1, 0), **given)
    except TypeError:  # from before DLPack 1
        return value.__dlpack__(**given)


def is_shape_alone(value):
    """PyTorch's FakeTensor and the like, and tensors on the device `meta`."""
    kind = type(value)
    if not kind.__module__.startswith("torch"):
        return False
    return kind.__name__ in ("FakeTensor", "FunctionalTensor") or value.device.type == "meta"


def pointer(value, what, keep):
    """Where the elements of `value` are; `keep` takes what must live until the launch is over."""
    try:
        found = _tilec.exchanged(value)
    except ValueError as e:
        raise ValueError(f"{what}: {e}") from None
    if found is not None:
        return found
    if hasattr(value, "data_ptr") and hasattr(value, "element_size"):
        return _from_torch(value, what)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _from_interface(interface, what, _dtype_name(value), 0), _device_index(value)
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        return _from_interface(interface, what, _dtype_name(value), ON_HOST), None
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        capsule = _capsule(value)
        keep.append(capsule)
        return _tilec.dlpack(capsule)
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"{what}: an object of type {type(value).__name__} cannot be passed to a kernel") from None
    keep.append(view)
    return _from_buffer(view, what)


def scalar(value):
    """A number of NumPy or the like as Python's; None: it is none."""
    if getattr(value, "shape", None) == () and hasattr(value, "item") and not hasattr(type(value), "__setitem__"):
        v = value.item()
        if isinstance(v, (bool, int, float)):
            return v
    if not hasattr(value, "shape") and hasattr(type(value), "__index__"):
        return value.__index__()
    return None


def array(value, what, keep):
    """`pointer` of what is no number; numbers take the way through _jit.py."""
    if scalar(value) is not None:
        raise TypeError(what)
    return pointer(value, what, keep)

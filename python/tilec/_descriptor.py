# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_descriptor.py: TensorDescriptor, an argument by which a kernel loads and stores blocks of a tensor; through TMA
where the GPU has it."""
from . import _args, _types


class TensorDescriptor:
    """A tensor and the shape of the blocks that a kernel takes of it, as `desc.load([row, column])`. Strides count
    elements; the last is 1. Outside of the tensor a block reads 0, or NaN with padding="nan"."""

    def __init__(self, base, shape, strides, block_shape, padding="zero"):
        self.base, self.padding = base, padding
        self.shape, self.strides, self.block_shape = list(shape), list(strides), list(block_shape)
        rank = len(self.shape)
        if not 1 <= rank <= 5 or len(self.strides) != rank or len(self.block_shape) != rank:
            raise ValueError("TensorDescriptor: shape, strides and block_shape have one number for each of 1 to 5 axes")
        for n in self.block_shape:
            if n < 1 or n & (n - 1):
                raise ValueError(f"TensorDescriptor: a block's sizes are powers of two, which {n} is not")
        if any(n < 1 for n in self.shape):
            raise ValueError("TensorDescriptor: a tensor without elements")
        if padding not in ("zero", "nan"):
            raise ValueError(f"TensorDescriptor: padding is 'zero' or 'nan', not {padding!r}")
        leaf, _ = _args.pointer(base, "TensorDescriptor", [])
        size = _types.sizes[leaf[1]]
        if leaf[0] % 16:
            raise ValueError("TensorDescriptor: the first element lies at no multiple of 16 bytes")
        if self.strides[-1] != 1 or any(n * size % 16 for n in self.strides[:-1]):
            raise ValueError("TensorDescriptor: the last stride is 1, the others are multiples of 16 bytes, "
                             f"which {self.strides} are not with elements of {size} bytes")  # fmt: skip
        if padding == "nan" and not _types.is_float(leaf[1]):
            raise ValueError("TensorDescriptor: padding with NaN is for floats")

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero"):
        """Of a tensor of PyTorch or an array of NumPy and the like, with its shape and strides."""
        strides = tensor.stride() if callable(getattr(tensor, "stride", None)) else None
        if strides is None:
            strides = [n // tensor.itemsize for n in tensor.strides]
        return TensorDescriptor(tensor, tensor.shape, strides, block_shape, padding)

    def __repr__(self):
        return f"TensorDescriptor(shape={self.shape}, strides={self.strides}, block_shape={self.block_shape})"

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# torch.pyi: operators of PyTorch made of kernels, for editors and type checkers.
from typing import Any, Callable, Iterable, List, Optional, Sequence, TypeVar, Union, overload

_F = TypeVar("_F", bound=Callable[..., Any])

class Operator:
    name: str
    parameters: List[str]
    op: Any
    def __init__(self, name: str, fn: Callable[..., Any], mutates_args: Union[str, Iterable[str]]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    @overload
    def backward(self, fn: Callable[..., Any], *, of: Optional[Sequence[str]] = None) -> "Operator": ...
    @overload
    def backward(self, *, of: Optional[Sequence[str]] = None) -> Callable[[Callable[..., Any]], "Operator"]: ...

def operator(name: str, *, mutates_args: Union[str, Iterable[str]] = ()) -> Callable[[Callable[..., Any]], Operator]: ...

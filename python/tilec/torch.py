# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.py: functions that launch kernels -> operators of PyTorch, which its autograd, torch.compile and CUDA graphs
know. Needs PyTorch; `import tilec` alone does not.

    @operator("mine::silu")
    def silu(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        silu_forward[grid](x, y, x.numel())
        return y

    @silu.backward
    def _(dy: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        dx = torch.empty_like(x)
        silu_backward[grid](dy, x, dx, x.numel())
        return dx
"""
import inspect

import torch


class Operator:
    """A function that PyTorch calls as one of its operators: `op` is torch.library's."""

    def __init__(self, name, fn, mutates_args):
        self.name, self.__name__, self.__doc__ = name, fn.__name__, fn.__doc__
        self.parameters = list(inspect.signature(fn).parameters)
        # Launches with tensors that are shapes alone do nothing, so the function itself tells the shapes.
        self.op = torch.library.custom_op(name, fn, mutates_args=mutates_args)
        self.op.register_fake(fn)

    def __call__(self, *args, **kwargs):
        return self.op(*args, **kwargs)

    def __repr__(self):
        return f"<tilec.torch.operator {self.name}>"

    def backward(self, fn=None, *, of=None):
        """Registers the gradient. fn takes the gradients of the outputs, which are contiguous, the inputs, and the
        outputs, by position, and returns the gradients of the inputs that `of` names, by default of all tensors; one,
        or a tuple. It becomes an operator itself, `name_backward`, so its arguments and results are annotated."""
        if fn is None:
            return lambda fn: self.backward(fn, of=of)
        for name in of or ():
            if name not in self.parameters:
                raise ValueError(f"{self.name}: backward of '{name}', which is no argument")
        backward_op = Operator(self.name + "_backward", fn, ())

        def keep(ctx, inputs, output):
            outputs = output if isinstance(output, tuple) else (output,)
            every = tuple(inputs) + outputs
            ctx.tensors = [isinstance(v, torch.Tensor) for v in every]
            ctx.others = [None if is_tensor else v for v, is_tensor in zip(every, ctx.tensors)]
            ctx.inputs = len(inputs)
            ctx.save_for_backward(*(v for v, is_tensor in zip(every, ctx.tensors) if is_tensor))

        def gradients(ctx, *grads):
            saved = iter(ctx.saved_tensors)
            every = [next(saved) if is_tensor else v for v, is_tensor in zip(ctx.others, ctx.tensors)]
            outputs = every[ctx.inputs:]
            grads = [torch.zeros_like(out) if g is None else g.contiguous() for g, out in zip(grads, outputs)]
            found = backward_op(*grads, *every)
            wanted = [i for i in range(ctx.inputs)
                      if (self.parameters[i] in of if of is not None else ctx.tensors[i])]  # fmt: skip
            found = iter(found if isinstance(found, (tuple, list)) else (found,))
            result = [next(found) if i in wanted else None for i in range(ctx.inputs)]
            return tuple(result) if len(result) != 1 else result[0]

        self.op.register_autograd(gradients, setup_context=keep)
        return backward_op


def operator(name, *, mutates_args=()):
    """Makes an operator, "namespace::name", of a function that launches kernels. Its arguments and results are
    annotated with what torch.library takes (torch.Tensor, int, float, bool, Optional and list of these); results may
    not be arguments. mutates_args: the tensors that it writes to."""
    return lambda fn: Operator(name, fn, mutates_args)

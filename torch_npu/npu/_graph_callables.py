# SPDX-License-Identifier: BSD-3-Clause
"""make_graphed_callables: an autograd node whose forward and backward passes replay graphs.

All passes share a memory pool, so they are captured in the order in which they will run: forward 1 … n, then backward n … 1.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..utils._error_code import ErrCode, graph_error
from ._devices import synchronize
from .streams import Stream, StreamContext

Tensors = tuple[torch.Tensor, ...]


def _check(function: Callable, args: list[Any]) -> None:
    if isinstance(function, torch.nn.Module):
        if function._backward_hooks or function._forward_hooks or function._forward_pre_hooks:
            raise RuntimeError(
                "Modules must not have hooks registered at the time they are passed. However, registering hooks on modules "
                "after passing them through make_graphed_callables is allowed." + graph_error(ErrCode.PARAM)
            )
        if any(buffer.requires_grad for buffer in function.buffers()):
            raise RuntimeError(
                "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only parameters may be "
                "trainable. All buffers must have ``requires_grad=False``." + graph_error(ErrCode.PARAM)
            )
    if not all(isinstance(arg, torch.Tensor) for arg in args):
        raise RuntimeError(
            "In the beta API, sample_args for each callable must contain only Tensors. Other types are not allowed."
            + graph_error(ErrCode.TYPE)
        )


class _Captured:
    """One callable's two graphs and the tensors they read and write."""

    def __init__(self, function: Callable, args: tuple) -> None:
        self.function = function
        self.args = args
        self.user_inputs = tuple(pytree.arg_tree_leaves(*args))
        self.parameters = tuple(function.parameters()) if isinstance(function, torch.nn.Module) else ()
        _check(function, list(self.user_inputs))
        self.inputs: Tensors = self.user_inputs + self.parameters
        self.forward: Any = None
        self.backward: Any = None
        self.outputs: Tensors = ()
        self.spec: Any = None
        self.grad_outputs: tuple[torch.Tensor | None, ...] = ()
        self.grad_inputs: tuple[torch.Tensor | None, ...] = ()

    def gradients(self, outputs: Tensors, grad_outputs: Tensors, allow_unused: bool) -> tuple:
        return torch.autograd.grad(
            outputs=outputs,
            inputs=tuple(i for i in self.inputs if i.requires_grad),
            grad_outputs=grad_outputs,
            only_inputs=True,
            allow_unused=allow_unused,
        )

    def warm_up(self, times: int, allow_unused: bool) -> None:
        for _ in range(times):
            outputs = tuple(o for o in pytree.tree_leaves(self.function(*self.args)) if o.requires_grad)
            if outputs:
                self.gradients(outputs, tuple(torch.empty_like(o) for o in outputs), allow_unused)

    def capture_forward(self, graph: Any, capture: Callable, pool: Any) -> None:
        self.forward = graph
        with capture(graph, pool=pool):
            outputs = self.function(*self.args)
        leaves, self.spec = pytree.tree_flatten(outputs)
        self.outputs = tuple(leaves)

    def capture_backward(self, graph: Any, capture: Callable, pool: Any, allow_unused: bool) -> None:
        self.backward = graph
        self.grad_outputs = tuple(torch.empty_like(o) if o.requires_grad else None for o in self.outputs)
        outputs = tuple(o for o in self.outputs if o.requires_grad)
        found: tuple = ()
        if outputs:
            with capture(graph, pool=pool):
                found = self.gradients(outputs, tuple(g for g in self.grad_outputs if g is not None), allow_unused)
        each = iter(found)
        self.grad_inputs = tuple(next(each, None) if i.requires_grad else None for i in self.inputs)


def _graphed(c: _Captured) -> Callable:
    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> Tensors:
            for static, given in zip(c.user_inputs, inputs):
                if static.data_ptr() != given.data_ptr():
                    static.copy_(given)
            c.forward.replay()
            return tuple(o.detach() for o in c.outputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
            for static, given in zip(c.grad_outputs, grads):
                if static is not None and static.data_ptr() != given.data_ptr():
                    static.copy_(given)
            c.backward.replay()
            return tuple(g.detach() if g is not None else None for g in c.grad_inputs)

    def run(*user_args: Any) -> Any:
        out = Graphed.apply(*pytree.arg_tree_leaves(*user_args), *c.parameters)
        return pytree.tree_unflatten(out, c.spec)

    return run


def _with_graph(module: torch.nn.Module, graphed: Callable) -> torch.nn.Module:
    before, training = module.forward, module.training

    def forward(*args: Any) -> Any:
        return graphed(*args) if module.training == training else before(*args)

    module.forward = forward
    return module


def make(
    graph_class: type, capture: Callable, callables: Any, sample_args: Any, warm_ups: int, allow_unused: bool, pool: Any
) -> Any:
    """torch.npu.make_graphed_callables, which documents it."""
    if torch.is_autocast_enabled("npu") and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`."
            + graph_error(ErrCode.PARAM)
        )
    single = not isinstance(callables, tuple)
    if single:
        callables, sample_args = (callables,), (sample_args,)
    all_captured = [_Captured(function, args) for function, args in zip(callables, sample_args)]
    if pool is None:
        from .graphs import graph_pool_handle

        pool = graph_pool_handle()
    synchronize()
    with StreamContext(Stream()):
        for c in all_captured:
            c.warm_up(warm_ups, allow_unused)
    synchronize()
    for c in all_captured:
        c.capture_forward(graph_class(), capture, pool)
    for c in reversed(all_captured):
        c.capture_backward(graph_class(), capture, pool, allow_unused)
    made = [
        _with_graph(c.function, _graphed(c)) if isinstance(c.function, torch.nn.Module) else _graphed(c) for c in all_captured
    ]
    return made[0] if single else tuple(made)

# SPDX-License-Identifier: BSD-3-Clause
"""Moving a module to or from the NPU keeps its parameters the same Python objects.

PyTorch replaces the data inside a parameter only between the devices it knows as alike; the NPU is not among them, so that
Module.to would put new parameters in place of the old ones: tied weights come apart, and an optimizer that was made before
trains parameters that nobody uses. Here the new parameter's contents go into the old object afterwards.
"""

import functools
import threading
from collections.abc import Callable

import torch
from torch.nn import Module, Parameter

_running = threading.local()


def _keep(old: Parameter, new: Parameter) -> Parameter:
    """`old` holding what `new` held, with its own hooks; `new` itself where the two cannot change places (a weak reference to
    one, say)."""
    hooks = {name: getattr(old, name, None) for name in ("_backward_hooks", "_post_accumulate_grad_hooks")}
    try:
        torch._C._swap_tensor_impl(old, new)
    except RuntimeError:
        return new
    for name, kept in hooks.items():
        if kept:
            setattr(old, name, kept)
    return old


def _moved(old: Parameter, new: Parameter | None) -> bool:
    if new is None or new is old:
        return False
    return old.device.type != new.device.type and "npu" in (old.device.type, new.device.type)


def keep_parameters(apply: Callable[..., Module]) -> Callable[..., Module]:
    """Wraps Module._apply, which every conversion of a module goes through."""

    @functools.wraps(apply)
    def _apply(self: Module, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Module:
        if getattr(_running, "inside", False):
            return apply(self, fn, recurse)
        before = [
            (module._parameters, name, parameter)
            for module in (self.modules() if recurse else (self,))
            for name, parameter in module._parameters.items()
            if parameter is not None
        ]
        _running.inside = True
        try:
            return apply(self, fn, recurse)
        finally:
            _running.inside = False
            kept: dict[int, Parameter] = {}
            for place, name, old in before:
                key = id(old)
                if key in kept:
                    place[name] = kept[key]
                elif _moved(old, place.get(name)):
                    place[name] = kept[key] = _keep(old, place[name])

    return _apply


def install() -> None:
    """Puts the wrapper in place, once."""
    if not hasattr(Module._apply, "__wrapped__"):
        Module._apply = keep_parameters(Module._apply)

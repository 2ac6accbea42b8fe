# SPDX-License-Identifier: BSD-3-Clause
"""What the fused optimizers share: parameters, gradients and states of one dtype in one piece of memory each.

A Part is the run of parameters of one group, one dtype and one step count: five flat tensors that an update goes over at
once. Whatever moves one of the tensors away (a gradient set to None, load_state_dict, a new group) is noticed at the
next use, and all are combined anew.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from ..utils._error_code import ErrCode, pta_error
from ..utils.combine_tensors import get_part_combined_tensor, npu_combine_tensors

__all__ = ["NpuFusedOptimizerBase"]

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
"""The order of what get_combined_params and get_combined_grads return."""


class Part:
    """Parameters that are updated together."""

    def __init__(self, group: dict[str, Any], params: list[torch.Tensor]) -> None:
        self.group = group
        self.params = params
        self.grads: list[torch.Tensor] = [p.grad for p in params]
        self.param: torch.Tensor = params[0]
        """All values, flat; self.grad all gradients, self.states each state of theirs."""
        self.grad: torch.Tensor = self.grads[0]
        self.states: dict[str, torch.Tensor] = {}
        self.pieces: dict[str, list[torch.Tensor]] = {}
        """The states by parameter: what self.states is made of."""
        self.step = 0
        self.counter = torch.zeros((), device=params[0].device)
        """The step as the fused operators want it."""

    def views(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """A flat tensor of this part's size as tensors of the parameters' shapes, on the same memory."""
        pieces = flat.split([p.numel() for p in self.params])
        return [piece.view(p.shape) for piece, p in zip(pieces, self.params)]


class NpuFusedOptimizerBase(Optimizer):
    """Base of the fused optimizers.

    Args:
        params: parameters or groups, as for torch.optim; NPU tensors of float32, float16 or bfloat16.
        default: options of a group that gives none.

    Raises:
        TypeError: another dtype (at the first step).
        ValueError: not on an NPU (at the first step).
    """

    def __init__(self, params: Any, default: dict[str, Any]) -> None:
        super().__init__(params, default)
        self.is_fused_optimizer = True
        self._parts: list[Part] = []
        self.params_all_group_combined: list[torch.Tensor | None] = [None] * len(DTYPES)
        self.grads_all_group_combined: list[torch.Tensor | None] = [None] * len(DTYPES)

    # ---- what a subclass says ----
    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        """{name: first value} of the states that a parameter of the group has."""
        raise NotImplementedError("a fused optimizer must have _states" + pta_error(ErrCode.NOT_SUPPORT))

    def _update(self, part: Part) -> None:
        """One step of a part, whose step counts from 1."""
        raise NotImplementedError("a fused optimizer must have _update" + pta_error(ErrCode.NOT_SUPPORT))

    # ---- combining ----
    def _combined(self) -> bool:
        """Whether everything lies where the last combining put it."""
        seen = 0
        for part in self._parts:
            seen += len(part.params)
            for at, p in enumerate(part.params):
                if p.grad is not part.grads[at] or p.grad.data_ptr() != self._addresses[id(p)]:
                    return False
                state = self.state[p]
                if any(state.get(name) is not piece[at] for name, piece in part.pieces.items()):
                    return False
        return seen == sum(p.grad is not None for group in self.param_groups for p in group["params"])

    def _check(self, p: torch.Tensor) -> None:
        if p.dtype not in DTYPES:
            raise TypeError(
                f"Fused optimizer's parameters must be either float32, float16 or bfloat16, but received {p.dtype}"
                + pta_error(ErrCode.TYPE)
            )
        if p.device.type != "npu":
            raise ValueError(
                f"Fused optimizer's parameters must be on an NPU, but one is on {p.device}" + pta_error(ErrCode.VALUE)
            )
        if p.grad.is_sparse:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients" + pta_error(ErrCode.NOT_SUPPORT))

    def _split(self) -> list[Part]:
        parts = []
        for group in self.param_groups:
            runs: dict[tuple[torch.dtype, int], list[torch.Tensor]] = {}
            for p in group["params"]:
                if p.grad is None:
                    continue
                self._check(p)
                step = self.state[p].get("step", 0)
                runs.setdefault((p.dtype, int(step)), []).append(p)
            for (_, step), params in runs.items():
                part = Part(group, params)
                part.step = step
                part.counter.fill_(step)
                parts.append(part)
        return sorted(parts, key=lambda part: DTYPES.index(part.params[0].dtype))

    @torch.no_grad()
    def _combine(self) -> None:
        if self._parts and self._combined():
            return
        self._parts = self._split()
        for index, dtype in enumerate(DTYPES):
            parts = [part for part in self._parts if part.params[0].dtype == dtype]
            params = [p for part in parts for p in part.params]
            for p in params:
                if not p.is_contiguous():
                    p.data = p.data.contiguous()
                if not p.grad.is_contiguous():
                    p.grad = p.grad.contiguous()
            self.params_all_group_combined[index] = whole = npu_combine_tensors(params)
            self.grads_all_group_combined[index] = grads = npu_combine_tensors([p.grad for p in params])
            at = 0
            for part in parts:
                size = sum(p.numel() for p in part.params)
                part.param = get_part_combined_tensor(whole, at, size)
                part.grad = get_part_combined_tensor(grads, at, size)
                part.grads = [p.grad for p in part.params]
                at += size
                self._combine_states(part)
        self._addresses = {id(p): p.grad.data_ptr() for part in self._parts for p in part.params}

    def _combine_states(self, part: Part) -> None:
        for name, first in self._states(part.group).items():
            pieces = []
            for p in part.params:
                state = self.state[p]
                old = state.get(name)
                fresh = torch.full_like(p, first) if old is None else old.detach().to(p).contiguous().clone()
                pieces.append(fresh)
            part.states[name] = npu_combine_tensors(pieces)
            part.pieces[name] = pieces
            for p, piece in zip(part.params, pieces):
                self.state[p][name] = piece
        for p in part.params:
            self.state[p]["step"] = part.step

    # ---- what a program calls ----
    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates all parameters that have a gradient; returns what `closure` (which computes the loss anew) gave."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._combine()
        self._before_update()
        for part in self._parts:
            part.step += 1
            self._update(part)
            for p in part.params:
                self.state[p]["step"] = part.step
        return loss

    def _before_update(self) -> None:
        """Called once a step, when all is combined."""

    @torch.no_grad()
    def zero_grad(self, set_to_none: bool = False) -> None:
        """Sets all gradients to 0, in place.

        Raises:
            ValueError: set_to_none; the gradients stay where they are.
        """
        if set_to_none:
            raise ValueError("set_to_none is not supported in fused optimizers" + pta_error(ErrCode.VALUE))
        self._combine()
        for grads in self.grads_all_group_combined:
            if grads is not None:
                grads.zero_()

    def get_combined_params(self) -> list[torch.Tensor | None]:
        """All parameters with a gradient, a flat tensor for each of DTYPES; None where there are none."""
        return self.params_all_group_combined

    def get_combined_grads(self) -> list[torch.Tensor | None]:
        """Their gradients in the same order."""
        return self.grads_all_group_combined

    @torch.no_grad()
    def clip_grad_norm_fused_(self, max_norm: float, norm_type: float = 2) -> torch.Tensor:
        """torch.nn.utils.clip_grad_norm_ over all gradients of this optimizer; returns their norm before."""
        self._combine()
        present = [grads for grads in self.grads_all_group_combined if grads is not None]
        if not present:
            return torch.tensor(0.0)
        norms = torch.stack([torch.linalg.vector_norm(grads, norm_type, dtype=torch.float32) for grads in present])
        total = torch.linalg.vector_norm(norms, norm_type)
        factor = (float(max_norm) / (total + 1e-6)).clamp_(max=1.0)
        for grads in present:
            grads.mul_(factor.to(grads.dtype))
        return total


def check_options(**options: tuple[float, float, float | None, str]) -> None:
    """Raises the ValueError of the first option (value, least, below or None, words) that is not least ≤ value < below."""
    for value, least, below, words in options.values():
        if not (value >= least and (below is None or value < below)):
            raise ValueError(f"Invalid {words}: {value}" + pta_error(ErrCode.VALUE))

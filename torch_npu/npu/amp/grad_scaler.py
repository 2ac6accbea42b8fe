# SPDX-License-Identifier: BSD-3-Clause
"""Loss scaling for float16 training."""

from typing import Any

import torch

from ..utils import is_support_inf_nan

__all__ = ["GradScaler"]


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler("npu", …): scales the loss, skips a step with inf or NaN gradients and lowers the scale
    then. With several optimizers, all that step after the one where they were found skip.

    Args:
        init_scale: the first scale; a power of two keeps the scaling exact.
        growth_factor: times this after `growth_interval` good steps.
        backoff_factor: times this after a step with inf or NaN.
        growth_interval: good steps until it grows.
        dynamic: False keeps the scale as it is; steps with inf or NaN are skipped all the same.
        enabled: False makes every method do nothing.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        self._dynamic = dynamic
        self._flag_cleared = False
        super().__init__(
            "npu",
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )

    @staticmethod
    def get_npu_overflow_flag() -> bool:
        """torch.npu.get_npu_overflow_flag: refused where results overflow to inf (the default)."""
        return torch.npu.get_npu_overflow_flag()

    @staticmethod
    def clear_npu_overflow_flag() -> None:
        """torch.npu.clear_npu_overflow_flag: nothing to do where results overflow to inf."""
        torch.npu.clear_npu_overflow_flag()

    def scale(self, outputs: Any) -> Any:
        """outputs · scale. Where results saturate, an iteration's first call clears the overflow flag."""
        if self._enabled and self._dynamic and not self._flag_cleared:
            if not is_support_inf_nan():
                self.clear_npu_overflow_flag()
            self._flag_cleared = True
        return super().scale(outputs)

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The optimizer's step, unless one of those unscaled in this iteration had inf or NaN."""
        found = (state["found_inf_per_device"].values() for state in self._per_optimizer_states.values())
        if any(value.item() for values in found for value in values):
            print("Gradient overflow. Skipping step")
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Ends an iteration: adapts the scale to what the gradients were, or sets it to `new_scale`."""
        if not self._dynamic and new_scale is None and self._scale is not None:
            new_scale = self._scale.clone()
        super().update(new_scale)
        self._flag_cleared = False

# SPDX-License-Identifier: BSD-3-Clause
"""Automatic mixed precision: torch.npu.amp, in the form of torch.cuda.amp."""

from .autocast_mode import autocast, custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["autocast", "GradScaler", "custom_fwd", "custom_bwd"]

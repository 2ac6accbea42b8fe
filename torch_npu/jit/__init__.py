# SPDX-License-Identifier: BSD-3-Clause
"""torch.jit on NPUs."""

from .register_fusion_pattern import optimize

__all__ = ["optimize"]

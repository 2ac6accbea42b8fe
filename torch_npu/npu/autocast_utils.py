# SPDX-License-Identifier: BSD-3-Clause
"""State of automatic mixed precision on the NPU, for this thread."""

import torch

__all__ = ["get_amp_supported_dtype", "is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype"]


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Dtypes that torch.autocast("npu", dtype=…) takes."""
    return [torch.float16, torch.bfloat16, torch.float32]


def is_autocast_enabled() -> bool:
    """Whether autocast is on for the NPU."""
    return torch.is_autocast_enabled("npu")


def set_autocast_enabled(enable: bool) -> None:
    """Turns autocast for the NPU on or off."""
    torch.set_autocast_enabled("npu", enable)


def get_autocast_dtype() -> torch.dtype:
    """The dtype that autocast computes in; float16 at first."""
    return torch.get_autocast_dtype("npu")


def set_autocast_dtype(dtype: torch.dtype) -> None:
    """Sets the dtype that autocast computes in."""
    torch.set_autocast_dtype("npu", dtype)

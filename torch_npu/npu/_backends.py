# SPDX-License-Identifier: BSD-3-Clause
"""Switches of scaled dot product attention under the names of torch.npu: PyTorch's own, and the NPU has one implementation.

They are kept and told, and warn that the choice has no effect.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

__all__ = [
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "math_sdp_enabled",
    "mem_efficient_sdp_enabled",
    "preferred_linalg_library",
    "sdp_kernel",
]


def _warn(kinds: str) -> None:
    warnings.warn(f"Currently, the device operator does not support {kinds} sdp and only sets the global variable!", stacklevel=3)


def flash_sdp_enabled() -> bool:
    """What enable_flash_sdp set; True at first."""
    _warn("flash")
    return torch._C._get_flash_sdp_enabled()


def enable_flash_sdp(enabled: bool) -> None:
    """Keeps whether flash attention may be chosen."""
    _warn("flash")
    torch._C._set_sdp_use_flash(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """What enable_mem_efficient_sdp set; True at first."""
    _warn("mem_efficient")
    return torch._C._get_mem_efficient_sdp_enabled()


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keeps whether memory-efficient attention may be chosen."""
    _warn("mem_efficient")
    torch._C._set_sdp_use_mem_efficient(enabled)


def math_sdp_enabled() -> bool:
    """What enable_math_sdp set; True at first."""
    _warn("math")
    return torch._C._get_math_sdp_enabled()


def enable_math_sdp(enabled: bool) -> None:
    """Keeps whether attention by its formula may be chosen."""
    _warn("math")
    torch._C._set_sdp_use_math(enabled)


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True
) -> Iterator[dict[str, Any]]:
    """Within it the three switches are as given; they are as before afterwards."""
    _warn("flash, math, mem_efficient")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = flash_sdp_enabled(), math_sdp_enabled(), mem_efficient_sdp_enabled()
    _set(enable_flash, enable_math, enable_mem_efficient)
    try:
        yield {}
    finally:
        _set(*before)


def _set(flash: bool, math: bool, mem_efficient: bool) -> None:
    torch._C._set_sdp_use_flash(flash)
    torch._C._set_sdp_use_math(math)
    torch._C._set_sdp_use_mem_efficient(mem_efficient)


def preferred_linalg_library(backend: Any = None) -> Any:
    """torch._C._LinalgBackend.Default: there is nothing to choose from."""
    warnings.warn("torch.npu.preferred_linalg_library isn't implemented!", stacklevel=2)
    return torch._C._LinalgBackend.Default

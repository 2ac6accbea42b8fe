# SPDX-License-Identifier: BSD-3-Clause
"""torch.load: the key "npu" in a map_location dictionary means every NPU, as `map_location="npu"` does for the target."""

import functools
from collections.abc import Callable
from typing import Any

import torch


class _EveryNpu(dict):
    """A map_location dictionary whose entry for "npu" also answers for "npu:0", "npu:1", …"""

    def get(self, location: str, default: Any = None) -> Any:
        if location not in self and location.startswith("npu:"):
            location = "npu"
        return super().get(location, default)


def _restore_location(original: Callable[[Any], Callable]) -> Callable[[Any], Callable]:
    @functools.wraps(original)
    def restore(map_location: Any) -> Callable:
        if type(map_location) is dict and "npu" in map_location:
            map_location = _EveryNpu(map_location)
        return original(map_location)

    return restore


def install() -> None:
    """Puts it in place, once."""
    serialization = torch.serialization
    if not hasattr(serialization._get_restore_location, "__wrapped__"):
        serialization._get_restore_location = _restore_location(serialization._get_restore_location)

# SPDX-License-Identifier: BSD-3-Clause
"""torch.npu.aclnn: the operator library's switches, in the form of torch.backends.cudnn."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from . import npu_config

__all__ = ["version", "allow_hf32"]  # noqa: F822 (allow_hf32 is a property of the module)


def version() -> str:
    """Version of the operator library in use, as "9.1.0"; "" if the CANN does not tell."""
    from ..utils.cann import get_cann_version

    return get_cann_version()


def set_flags(_allow_hf32: bool | None = None) -> tuple[bool]:
    """Sets allow_hf32 if it is given; returns what it was."""
    before = npu_config.conv.allow_hf32
    if _allow_hf32 is not None:
        npu_config.conv.allow_hf32 = _allow_hf32
    return (before,)


@contextmanager
def flags(allow_hf32: bool = True) -> Iterator[None]:
    """allow_hf32 is this inside."""
    before = set_flags(allow_hf32)
    try:
        yield
    finally:
        set_flags(*before)


class _Module(ModuleType):
    @property
    def allow_hf32(self) -> bool:
        """Whether convolutions may round float32 to HF32, as torch.npu.conv.allow_hf32."""
        return npu_config.conv.allow_hf32

    @allow_hf32.setter
    def allow_hf32(self, value: bool) -> None:
        npu_config.conv.allow_hf32 = value


sys.modules[__name__].__class__ = _Module

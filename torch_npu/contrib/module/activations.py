# SPDX-License-Identifier: BSD-3-Clause
"""Activations under their old NPU names: torch.nn has them all."""

import warnings

import torch

__all__: list[str] = []


def _replaced(name: str) -> None:
    warnings.warn(
        f"torch_npu.contrib.module.{name} is deprecated. Please use torch.nn.{name} as a replacement.",
        FutureWarning,
        stacklevel=3,
    )


class Mish(torch.nn.Mish):
    """torch.nn.Mish."""

    def __init__(self) -> None:
        _replaced("Mish")
        super().__init__()


class SiLU(torch.nn.SiLU):
    """torch.nn.SiLU."""

    def __init__(self) -> None:
        _replaced("SiLU")
        super().__init__()


Swish = SiLU

# SPDX-License-Identifier: BSD-3-Clause
"""LinearQuant under its old name."""

import warnings
from typing import Any

import torch
from torch import Tensor

from ...utils._error_code import ErrCode, ops_error
from .linear_quant import LinearQuant

__all__ = ["LinearA8W8Quant"]

_ALLOWED = {
    "scale": (torch.int64, torch.float32, torch.bfloat16),
    "offset": (torch.float32,),
    "bias": (torch.int32, torch.bfloat16, torch.float16, torch.float32),
    "pertoken_scale": (torch.float32,),
}


class LinearA8W8Quant(LinearQuant):
    """LinearQuant, which is to be used instead; this one also checks the types of its parameters.

    Raises:
        ValueError: at the call, a type that the product does not take.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = True,
        offset: bool = False,
        pertoken_scale: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
        output_dtype: torch.dtype | None = None,
    ) -> None:
        warnings.warn(
            "torch_npu.contrib.module.LinearA8W8Quant is deprecated and will be removed in a future version. "
            "Use torch_npu.contrib.module.LinearQuant instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(
            in_features,
            out_features,
            bias=bias,
            offset=offset,
            pertoken_scale=pertoken_scale,
            device=device,
            dtype=dtype,
            output_dtype=output_dtype,
        )

    def forward(self, linear_quant_input: Tensor) -> Tensor:
        for name, allowed in _ALLOWED.items():
            value = getattr(self, name)
            if value is not None and value.dtype not in allowed:
                names = " or ".join(str(dtype) for dtype in allowed)
                raise ValueError(f"{name} should be {names} datatype, but now it is {value.dtype}." + ops_error(ErrCode.TYPE))
        if self.output_dtype not in (None, torch.int8, torch.float16, torch.bfloat16):
            raise ValueError(
                f"output_dtype should be torch.int8, torch.float16 or torch.bfloat16, but now it is {self.output_dtype}."
                + ops_error(ErrCode.TYPE)
            )
        return super().forward(linear_quant_input)

# SPDX-License-Identifier: BSD-3-Clause
"""Fusing operators of a scripted or traced module."""

import torch

from ..utils._error_code import ErrCode, pta_error

__all__ = ["optimize"]

# x · sigmoid(1.702 · x), as programs write it, and its operator.
_PATTERN = """
graph(%x):
    %scale : float = prim::Constant[value=1.702]()
    %a = aten::mul(%x, %scale)
    %b = aten::sigmoid(%a)
    %c = aten::mul(%x, %b)
    return (%c)"""
_FUSED = """
graph(%x):
    %c = npu::fast_gelu(%x)
    return (%c)"""


def optimize(jit_mod: torch.jit.ScriptModule) -> None:
    """Puts npu::fast_gelu in place of x · sigmoid(1.702 · x) in the module's graph.

    Raises:
        TypeError: not a module of torch.jit.
    """
    if not isinstance(jit_mod, torch.jit.ScriptModule):
        raise TypeError(f"expected a torch.jit.ScriptModule, but got {type(jit_mod).__name__}" + pta_error(ErrCode.TYPE))
    torch._C._jit_pass_custom_pattern_based_rewrite_graph(_PATTERN, _FUSED, jit_mod.graph)

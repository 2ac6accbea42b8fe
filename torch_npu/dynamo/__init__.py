# SPDX-License-Identifier: BSD-3-Clause
"""torch.compile(backend="npu"): the graph is traced with its backward and run operator by operator on the NPU.

PyTorch finds it through the entry point "npu" of the group torch_dynamo_backends.
"""

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["npu"]


def npu(graph: torch.fx.GraphModule, example_inputs: list[Any], **options: Any) -> Callable[..., Any]:
    """Compiles `graph`. Options of other backends (mode="reduce-overhead", options={…}) are refused by name."""
    from torch._dynamo.backends.debugging import aot_eager

    if options:
        raise ValueError(f"torch.compile(backend='npu') has no options, but got {', '.join(map(repr, options))}")
    return aot_eager(graph, example_inputs)

# SPDX-License-Identifier: BSD-3-Clause
"""The custom operators `torch_npu.npu_*`, also `torch.ops.npu.*`, with the official schemas.

Each is defined as a composite of PyTorch operators, so it runs wherever those run and autograd follows from them. A module is
a family; it has a table OPERATORS {schema: function} and says the formula's source in each docstring.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch

from . import (
    activation,
    attention,
    basic,
    boxes,
    conv,
    dropout,
    formats,
    grouped,
    infer_attention,
    losses,
    moe,
    norm,
    optimizer,
    quant,
    rotary,
    shape,
    vision,
)

_FAMILIES = (
    activation, attention, basic, boxes, conv, dropout, formats, grouped, infer_attention,
    losses, moe, norm, optimizer, quant, rotary, shape, vision,
)  # fmt: skip
_library = torch.library.Library("npu", "DEF")


def _with_out(operator: Callable, outputs: list[str]) -> Callable:
    """The operator with its outputs as one argument out=(…), as PyTorch's own functions take several."""

    @functools.wraps(operator)
    def call(*args: object, out: tuple[torch.Tensor, ...] | None = None, **kwargs: object) -> object:
        if out is None:
            return operator(*args, **kwargs)
        if len(out) != len(outputs):
            raise RuntimeError(f"{operator.__name__}: out must be ({', '.join(outputs)}), but has {len(out)} tensors.")
        return operator(*args, **kwargs, **dict(zip(outputs, out)))

    return call


def _define() -> dict[str, object]:
    """Registers every operator of the families; returns {name: callable} for the package's own namespace."""
    names = {}
    for family in _FAMILIES:
        for schema, function in family.OPERATORS.items():
            name = schema.partition("(")[0]
            _library.define(schema)
            _library.impl(name, function, "CompositeImplicitAutograd")
            operator, _, overload = name.partition(".")
            names[operator] = getattr(torch.ops.npu, operator)
            outputs = [a.name for a in names[operator].out._schema.arguments if a.is_out] if overload == "out" else ["out"]
            if outputs != ["out"]:
                names[operator] = _with_out(names[operator], outputs)
    return names


exported = _define() | formats.FUNCTIONS

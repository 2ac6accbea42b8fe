# SPDX-License-Identifier: BSD-3-Clause
"""The custom operators `torch_npu.npu_*`, also `torch.ops.npu.*`, with the official schemas.

Each is defined as a composite of PyTorch operators, so it runs wherever those run and autograd follows from them. A module is
a family; it has a table OPERATORS {schema: function} and says the formula's source in each docstring.
"""

from __future__ import annotations

import torch

from . import attention, basic, formats, norm, quant, vision

_FAMILIES = (attention, basic, formats, norm, quant, vision)
_library = torch.library.Library("npu", "DEF")


def _define() -> dict[str, object]:
    """Registers every operator of the families; returns {name: callable} for the package's own namespace."""
    names = {}
    for family in _FAMILIES:
        for schema, function in family.OPERATORS.items():
            name = schema.partition("(")[0]
            _library.define(schema)
            _library.impl(name, function, "CompositeImplicitAutograd")
            names[name] = getattr(torch.ops.npu, name)
    return names


exported = _define() | formats.FUNCTIONS

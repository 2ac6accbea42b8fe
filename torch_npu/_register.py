# SPDX-License-Identifier: BSD-3-Clause
"""Makes "npu" a device of PyTorch: the name, the module torch.npu, methods of tensors, modules and storages.

Everything here may run twice: a failed import of the package can be tried again.
"""

import sys
from types import ModuleType

import torch
from torch.utils import backend_registration

from . import _fake, _replicas, _saving

UNSUPPORTED_DTYPES = [torch.quint8, torch.quint4x2, torch.quint2x4, torch.qint32, torch.qint8]
"""Dtypes whose storages cannot be moved by TypedStorage.npu(): the quantised ones."""


def register(module: ModuleType) -> None:
    """Registers `module` (torch_npu.npu) as torch.npu and generates Tensor.npu, is_npu, Module.npu, …"""
    if torch._C._get_privateuse1_backend_name() != "npu":
        torch.utils.rename_privateuse1_backend("npu")
    backend_registration._privateuse1_backend_name = "npu"
    if not hasattr(torch, "npu"):
        torch._register_device_module("npu", module)
    if not hasattr(torch.Tensor, "npu"):
        torch.utils.generate_methods_for_privateuse1_backend(
            for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True, unsupported_dtype=UNSUPPORTED_DTYPES
        )
        torch.nn.parameter.UninitializedTensorMixin._allowed_methods.append(torch.Tensor.npu)
    _fake.install()
    _replicas.install()
    _saving.install()
    _alias_submodules(module)


def _alias_submodules(module: ModuleType) -> None:
    """Lets `from torch.npu.amp import autocast` find torch_npu.npu.amp instead of importing a second copy of it."""
    prefix = module.__name__ + "."
    for name, part in list(sys.modules.items()):
        if name.startswith(prefix):
            sys.modules.setdefault("torch.npu." + name[len(prefix) :], part)

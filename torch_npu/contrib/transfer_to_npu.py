# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs written for CUDA on NPUs: importing this module is all.

    from torch_npu.contrib import transfer_to_npu    # or TORCH_TRANSFER_TO_NPU=1 and no edit at all

After it "cuda", "cuda:1" and torch.device("cuda") mean "npu", "npu:1" and torch.device("npu") wherever PyTorch takes a device;
Tensor.cuda, Module.cuda and torch.cuda.* are those of the NPU; the backend "nccl" is "hccl"; checkpoints saved on CUDA load
onto the NPU. torch.jit.script, isinstance and float64 keep their meaning, and "cpu" stays the CPU. What has no counterpart
raises when it is called and names what to use instead.
"""

import functools
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.cuda.amp
import torch.jit._builtins
import torch.utils._device
from torch_npu.npu import _utils

from . import _accelerate, _cuda_names, _cuda_only

__all__: list[str] = []

_CUDA = re.compile(r"cuda(:\d+)?")
FACTORIES = """
    arange as_tensor asarray bartlett_window blackman_window empty empty_like empty_permuted empty_quantized empty_strided eye
    from_file full full_like hamming_window hann_window kaiser_window linspace logspace normal ones ones_like rand rand_like
    randint randint_like randn randn_like randperm range scalar_tensor sparse_bsc_tensor sparse_bsr_tensor
    sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices zeros
    zeros_like load set_default_device get_device_module get_autocast_dtype set_autocast_dtype autocast_increment_nesting
""".split()
METHODS = "to new_empty new_empty_strided new_full new_ones new_tensor new_zeros pin_memory".split()


def on_npu(value: Any) -> Any:
    """The same argument with CUDA devices replaced: text, torch.device, and dicts, lists and tuples of them."""
    if isinstance(value, str):
        return "npu" + value[4:] if value[:4] == "cuda" and _CUDA.fullmatch(value) else value
    if isinstance(value, torch.device):
        return (
            torch.device("npu", value.index)
            if value.type == "cuda" and value.index is not None
            else (torch.device("npu") if value.type == "cuda" else value)
        )
    if type(value) is dict:
        return {on_npu(key): on_npu(item) for key, item in value.items()}
    if type(value) in (list, tuple) and any(isinstance(item, str | torch.device) for item in value):
        return type(value)(on_npu(item) for item in value)
    return value


_CARRIERS = (str, torch.device, dict, list, tuple)


def wrapped(function: Callable) -> Callable:
    """`function` with on_npu applied to its arguments. TorchScript still knows it as the builtin it was."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for argument in args:
            if isinstance(argument, _CARRIERS):
                args = tuple(on_npu(argument) for argument in args)
                break
        for name, argument in kwargs.items():
            if isinstance(argument, _CARRIERS):
                kwargs[name] = on_npu(argument)
        return function(*args, **kwargs)

    builtin = torch.jit._builtins._find_builtin(function)
    if builtin:
        torch.jit._builtins._register_builtin(call, builtin)
    return call


def _wrap(owner: Any, names: list[str]) -> None:
    for name in names:
        if hasattr(owner, name):
            setattr(owner, name, wrapped(getattr(owner, name)))


class _Stand(type):
    """Type of the stand-ins for C++ classes: a call makes an object of the real class, isinstance asks for the real class."""

    real: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.real(*map(on_npu, args), **{name: on_npu(value) for name, value in kwargs.items()})

    def __instancecheck__(cls, obj: object) -> bool:
        return isinstance(obj, cls.real)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.real)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.real, name)


def _stand_in(real: type) -> type:
    return _Stand(real.__name__, (), {"real": real, "__doc__": real.__doc__, "__module__": real.__module__})


def _tensors() -> None:
    torch.utils._device._device_constructors()  # its table of functions must hold the originals
    _wrap(torch, FACTORIES)
    _wrap(torch.fft, ["fftfreq", "rfftfreq"])
    _wrap(torch.nested, ["nested_tensor"])
    _wrap(torch.Tensor, METHODS)
    torch.Tensor.cuda, torch.nn.Module.cuda = torch.Tensor.npu, torch.nn.Module.npu
    torch.nn.utils.rnn.PackedSequence.cuda = torch.nn.utils.rnn.PackedSequence.npu
    torch.UntypedStorage.cuda, torch.TypedStorage.cuda = torch.UntypedStorage.npu, torch.TypedStorage.npu
    torch.Tensor.is_cuda = torch.Tensor.is_npu
    torch.nn.utils.rnn.PackedSequence.is_cuda = torch.nn.utils.rnn.PackedSequence.is_npu
    allowed = torch.nn.parameter.UninitializedTensorMixin._allowed_methods
    allowed[:] = [getattr(torch.Tensor, method.__name__, method) for method in allowed]
    context = torch.utils._device.DeviceContext
    context.__init__ = wrapped(context.__init__)
    torch.Generator, torch.Stream, torch.Event = map(_stand_in, (torch.Generator, torch.Stream, torch.Event))

    to_type = torch.Tensor.type

    @functools.wraps(to_type)
    def of_type(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if isinstance(dtype, str):
            dtype = dtype.replace("torch.cuda.", "torch.npu.")
        return to_type(self, dtype, non_blocking, **kwargs)

    torch.Tensor.type = of_type
    default_type = torch.set_default_tensor_type

    @functools.wraps(default_type)
    def set_default_tensor_type(kind: Any) -> None:
        name = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
        found = re.fullmatch(r"torch\.(?:cuda|npu)\.(\w+Tensor)", name)
        if not found:
            return default_type(kind)
        torch.set_default_dtype(getattr(torch.npu, found[1]).dtype)
        torch.set_default_device("npu")

    torch.set_default_tensor_type = set_default_tensor_type


def _mixed_precision() -> None:
    autocast = torch.amp.autocast_mode.autocast
    autocast.__init__ = wrapped(autocast.__init__)
    _wrap(torch.amp, ["custom_fwd", "custom_bwd", "is_autocast_available"])
    scaler = torch.amp.GradScaler.__init__

    @functools.wraps(scaler)
    def grad_scaler(self: torch.amp.GradScaler, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        scaler(self, on_npu(device), *args, **kwargs)

    torch.amp.GradScaler.__init__ = grad_scaler
    enabled, enable = torch.is_autocast_enabled, torch.set_autocast_enabled
    torch.is_autocast_enabled = functools.wraps(enabled)(lambda device_type="cuda": enabled(on_npu(device_type)))

    @functools.wraps(enable)
    def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
        enable(*(("npu", *args) if len(args) == 1 and not kwargs else map(on_npu, args)), **kwargs)

    torch.set_autocast_enabled = set_autocast_enabled
    torch.get_autocast_gpu_dtype, torch.set_autocast_gpu_dtype = torch.npu.get_autocast_dtype, torch.npu.set_autocast_dtype


def _saving() -> None:
    def restore(storage: Any, location: str) -> Any:
        return torch.serialization._deserialize("npu", storage, on_npu(location)) if _CUDA.fullmatch(location) else None

    torch.serialization.register_package(15, lambda storage: None, restore)


def _process_groups() -> None:
    distributed = torch.distributed
    if not distributed.is_available():
        return

    def on_hccl(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            swap = lambda v: (
                v.replace("nccl", "hccl").replace("cuda", "npu") if isinstance(v, str) and "://" not in v else on_npu(v)
            )
            return function(*map(swap, args), **{name: swap(value) for name, value in kwargs.items()})

        return call

    distributed.init_process_group = on_hccl(distributed.init_process_group)
    distributed.new_group = on_hccl(distributed.new_group)
    if hasattr(distributed, "is_hccl_available"):
        distributed.is_nccl_available = distributed.is_hccl_available
    parallel = torch.nn.parallel.DistributedDataParallel
    parallel.__init__ = wrapped(parallel.__init__)


def _transfer() -> None:
    if getattr(torch, "_npu_transferred", False):
        return
    torch._npu_transferred = True
    _utils.cuda_means_npu = True
    _cuda_names.redirect_all()
    _cuda_names.default_generators()
    _tensors()
    _mixed_precision()
    _saving()
    _process_groups()
    _cuda_only.extensions()
    _cuda_names.explain_missing_packages()
    for module in (torch._utils, sys.modules["torch.nn.parallel.data_parallel"]):
        module._get_available_device_type = lambda: "npu" if torch.npu.is_available() else None
    if _cuda_only.quiet():
        return
    warnings.warn(
        "transfer_to_npu: torch.cuda, devices 'cuda' and backend 'nccl' now mean torch.npu, 'npu' and 'hccl'", stacklevel=2
    )
    _accelerate.warn_when_used()


_transfer()

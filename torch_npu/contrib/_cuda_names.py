# SPDX-License-Identifier: BSD-3-Clause
"""What the names of torch.cuda mean on an NPU: the same name of torch.npu, or an error that says what to use instead."""

import sys
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any, NoReturn

import torch

PARTS = ("amp", "amp.autocast_mode", "amp.grad_scaler", "memory", "random", "streams")
"""Submodules of torch.cuda that torch.npu has too."""

ALIASES = {
    "CUDAGraph": "NPUGraph",
    "CUDAPluggableAllocator": "NPUPluggableAllocator",
    "DeferredCudaCallError": "DeferredNpuCallError",
}

ADVICE = {
    "cudart": "torch.npu.synchronize, torch.npu.mem_get_info and the other functions of torch.npu",
    "jiterator": "ordinary PyTorch operators",
    "nccl": "torch.distributed with the backend hccl",
    "nvtx": "torch.profiler.record_function",
    "profiler": "torch.profiler",
    "tunable": "nothing: operators are not tuned",
    "gds": "torch.load and torch.save",
    "green_contexts": "streams",
    "GreenContext": "streams",
    "comm": "torch.distributed",
    "list_gpu_processes": "npu-smi info",
    "temperature": "npu-smi info",
    "power_draw": "npu-smi info",
    "clock_rate": "npu-smi info",
    "current_solver_handle": "torch.linalg",
    "get_arch_list": "torch.npu.get_device_name",
    "get_gencode_flags": "torch.npu.get_device_name",
}

PACKAGES = {
    "pycuda": "PyTorch operators, or a C++ extension for the NPU",
    "cupy": "NumPy on the CPU or PyTorch operators on the NPU",
    "flash_attn": "torch.nn.functional.scaled_dot_product_attention",
    "xformers": "torch.nn.functional.scaled_dot_product_attention",
    "apex": "torch.amp and torch.optim",
    "bitsandbytes": "torch.optim, or quantisation on the CPU",
    "pynvml": "npu-smi info",
    "tensorrt": "torch.compile",
}
"""Packages that only work with CUDA; where one is not installed, its ImportError says what to use."""


def missing(name: str) -> Callable[..., NoReturn]:
    """A function in the place of torch.cuda.`name` that raises when it is called."""

    def call(*args: Any, **kwargs: Any) -> NoReturn:
        head = name.partition(".")[0]
        advice = ADVICE.get(name) or ADVICE.get(head)
        instead = f"; instead use {advice}" if advice else ""
        raise NotImplementedError(f"torch.cuda.{name} needs CUDA and has no counterpart on the NPU{instead} (transfer_to_npu)")

    call.__name__ = call.__qualname__ = name
    return call


class MissingModule(ModuleType):
    """In the place of a submodule of torch.cuda: every function of it raises with advice when called."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(name)
        return missing(f"{self.__name__.removeprefix('torch.cuda.')}.{name}")


def redirect(cuda: ModuleType, npu: ModuleType) -> None:
    """Gives every public name of `cuda` (torch.cuda or a part of it) the meaning that `npu` has for it."""
    for name in dir(npu):
        if name.startswith("__") or isinstance(getattr(npu, name), ModuleType):
            continue
        if not name.startswith("_") or hasattr(cuda, name):
            setattr(cuda, name, getattr(npu, name))
    for name, ours in ALIASES.items():
        if hasattr(cuda, name) and hasattr(npu, ours):
            setattr(cuda, name, getattr(npu, ours))


def redirect_all() -> None:
    """Does it for torch.cuda and its parts, and puts errors with advice where the NPU has nothing."""
    redirect(torch.cuda, torch.npu)
    for part in PARTS:
        cuda, npu = sys.modules.get(f"torch.cuda.{part}"), sys.modules.get(f"torch_npu.npu.{part}")
        if cuda is not None and npu is not None:
            redirect(cuda, npu)
    for name in [*torch.cuda.__all__, "comm"]:
        value = getattr(torch.cuda, name, None)
        if hasattr(torch.npu, name) or name in ALIASES or name in PARTS or name in ("default_generators", "sparse", "graphs"):
            continue
        if isinstance(value, ModuleType):
            module = MissingModule(f"torch.cuda.{name}")
            setattr(torch.cuda, name, module)
            sys.modules[f"torch.cuda.{name}"] = module
        elif callable(value) and (name in ADVICE or not isinstance(value, type)):
            setattr(torch.cuda, name, missing(name))


def default_generators() -> None:
    """torch.cuda.default_generators becomes the NPU's, whenever it is asked for: before the first use there are none."""

    def get(name: str) -> Any:
        if name == "default_generators":
            return torch.npu.default_generators
        raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")

    del torch.cuda.default_generators
    torch.cuda.__getattr__ = get


def explain_missing_packages() -> None:
    """Lets an import error that ends the program, of a package that needs CUDA, say what to use on the NPU."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if package in PACKAGES:
            print(f"{package} works with CUDA only; on the NPU use {PACKAGES[package]} (transfer_to_npu)", file=sys.stderr)

    sys.excepthook = hook

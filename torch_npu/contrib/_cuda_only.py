# SPDX-License-Identifier: BSD-3-Clause
"""What transfer_to_npu cannot carry over whole: DataParallel over several devices, and CUDA kernels compiled at run time."""

import functools
import warnings
from typing import Any, NoReturn

import torch
from torch.utils import cpp_extension
from torch_npu import _variables


def quiet() -> bool:
    """Whether advice is for nobody: not the first rank, or warnings are switched off."""
    return _variables.text("RANK") not in ("", "0") or _variables.quiet()


def _npu(where: Any) -> torch.device:
    index = where if isinstance(where, int) else torch.device(where).index
    return torch.device("npu", torch.npu.current_device() if index is None else index)


def data_parallel() -> None:
    """Lets torch.nn.DataParallel run on one NPU; splitting over several is left to DistributedDataParallel."""
    parallel = torch.nn.DataParallel

    @functools.wraps(parallel.__init__)
    def init(
        self: torch.nn.Module, module: torch.nn.Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        torch.nn.Module.__init__(self)
        chosen = _npu(device_ids[0]) if device_ids else _npu(torch.npu.current_device())
        wanted = len(device_ids) if device_ids else torch.npu.device_count()
        if wanted > 1 and not quiet():
            warnings.warn(
                f"DataParallel uses {chosen} alone; for several NPUs use DistributedDataParallel with hccl (transfer_to_npu)",
                stacklevel=2,
            )
        self.module, self.dim, self.src_device_obj = module.to(chosen), dim, chosen
        self.device_ids, self.output_device = [chosen.index], chosen.index

    @functools.wraps(parallel.forward)
    def forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
        def move(value: Any) -> Any:
            return value.to(self.src_device_obj) if isinstance(value, torch.Tensor) else value

        inputs, kwargs = torch.utils._pytree.tree_map(move, (inputs, kwargs))
        return self.module(*inputs, **kwargs)

    parallel.__init__, parallel.forward = init, forward


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} compiles CUDA kernels, which an NPU cannot run; write the kernel as C++ "
        "(torch_npu.utils.cpp_extension.NpuExtension) or with PyTorch operators (transfer_to_npu)"
    )


def extensions() -> None:
    """Lets building CUDA kernels say what to do instead; C++ ones build as before."""
    load, load_inline = cpp_extension.load, cpp_extension.load_inline

    def cuda_extension(*args: Any, **kwargs: Any) -> NoReturn:
        _refuse("CUDAExtension")

    @functools.wraps(load)
    def load_cpp(name: str, sources: str | list[str], *args: Any, **kwargs: Any) -> Any:
        files = [sources] if isinstance(sources, str) else sources
        if kwargs.get("with_cuda") or any(str(file).endswith((".cu", ".cuh")) for file in files):
            _refuse("torch.utils.cpp_extension.load")
        return load(name, sources, *args, **kwargs)

    @functools.wraps(load_inline)
    def load_inline_cpp(name: str, cpp_sources: Any, cuda_sources: Any = None, *args: Any, **kwargs: Any) -> Any:
        if cuda_sources or kwargs.get("with_cuda"):
            _refuse("torch.utils.cpp_extension.load_inline")
        return load_inline(name, cpp_sources, cuda_sources, *args, **kwargs)

    cpp_extension.CUDAExtension, cpp_extension.load, cpp_extension.load_inline = cuda_extension, load_cpp, load_inline_cpp

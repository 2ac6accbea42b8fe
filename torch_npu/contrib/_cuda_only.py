# SPDX-License-Identifier: BSD-3-Clause
"""What transfer_to_npu cannot carry over: CUDA kernels compiled at run time; and when its advice is for nobody."""

import functools
from typing import Any, NoReturn

from torch.utils import cpp_extension
from torch_npu import _variables


def quiet() -> bool:
    """Whether advice is for nobody: not the first rank, or warnings are switched off."""
    return _variables.text("RANK") not in ("", "0") or _variables.quiet()


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

# SPDX-License-Identifier: BSD-3-Clause
"""Building C++ extensions that work on NPU tensors and streams, against the headers of this package and of the CANN.

    from setuptools import setup
    from torch.utils.cpp_extension import BuildExtension
    from torch_npu.utils.cpp_extension import NpuExtension
    setup(name="my_ops", ext_modules=[NpuExtension("my_ops", ["my_ops.cpp"])], cmdclass={"build_ext": BuildExtension})

or at once, with include_paths() and library_flags(), through torch.utils.cpp_extension.load.
"""

import os
from typing import Any

import torch_npu
from torch.utils import cpp_extension
from torch_npu import _C, _variables

__all__ = ["NpuExtension", "include_paths", "library_flags"]


def _cann() -> str:
    """The toolkit's folder: the one that the libraries in use are from, or ASCEND_HOME_PATH; it must hold the headers."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(_C._cann_open(""))))
    for place in (root, _variables.raw("ASCEND_HOME_PATH") or root):
        if os.path.exists(os.path.join(place, "include/acl/acl.h")):
            return place
    raise FileNotFoundError(f"no headers of the CANN (include/acl/acl.h) in {root} or ASCEND_HOME_PATH")


def _library_paths() -> list[str]:
    return [os.path.join(torch_npu.__path__[0], "lib"), os.path.join(_cann(), "lib64")]


def include_paths() -> list[str]:
    """Folders with the headers torch_npu/csrc/core/npu/… and acl/…"""
    return [os.path.join(torch_npu.__path__[0], "include"), os.path.join(_cann(), "include")]


def library_flags() -> list[str]:
    """Linker options for libtorch_npu.so and libascendcl.so."""
    return [*(f"-L{path}" for path in _library_paths()), "-ltorch_npu", "-lascendcl"]


def NpuExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Any:
    """A setuptools.Extension for C++ code that uses PyTorch, the NPU's streams and AscendCL.

    Args:
        name: the module's name.
        sources: C++ files.
        args, kwargs: further arguments of setuptools.Extension; include_dirs, library_dirs and libraries are added to.
    """
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *include_paths()]
    kwargs["library_dirs"] = [*kwargs.get("library_dirs", []), *_library_paths()]
    kwargs["libraries"] = [*kwargs.get("libraries", []), "torch_npu", "ascendcl"]
    return cpp_extension.CppExtension(name, sources, *args, **kwargs)

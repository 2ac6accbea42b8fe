# SPDX-License-Identifier: BSD-3-Clause
"""torch_npu: PyTorch on Ascend NPUs, real or in software.

Importing it checks that PyTorch, this package and the CANN fit, registers the device "npu" with PyTorch and makes torch.npu.
`import torch` does it too, through the entry point "npu = torch_npu:_autoload" of the group torch.backends. There a failure
is one warning, so that PyTorch stays usable; `import torch_npu` raises it.
"""

import os
import sys
import warnings

_autoload_error: Exception | None = None

if not os.path.isdir(os.path.join(__path__[0], "lib")):
    # The source tree (current folder, say) hides the built package further down the path: take that one.
    _built = [os.path.join(entry, "torch_npu") for entry in sys.path]
    __path__[:] = [folder for folder in _built if os.path.isdir(os.path.join(folder, "lib"))][:1] or __path__


def _autoload() -> None:
    """Called by `import torch` after it has imported this package."""
    if _autoload_error is None:
        return
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch_npu"]:
        del sys.modules[name]  # so that an explicit import tries again and raises
    reason = str(_autoload_error).partition("\n")[0]
    warnings.warn(
        f"torch_npu is installed but was not loaded: {reason} ('import torch_npu' tells all; "
        "TORCH_DEVICE_BACKEND_AUTOLOAD=0 loads nothing by itself)",
        stacklevel=4,
    )


import torch

from .version import __version__

__all__ = ["__version__"]


def _start() -> None:
    from . import _cann, _checks, _variables

    _variables.check()
    _checks.torch_fits()
    _checks.one_distribution(os.path.abspath(__path__[0]))
    _checks.one_accelerator()
    folder = _cann.find()

    from . import _C

    _C._cann_open(folder)
    torch.version.cann = _C._cann_version()  # the official package sets it; accelerate prints it

    from . import npu
    from ._register import register

    register(npu)

    from . import distributed, multiprocessing, ops, optim, profiler, utils

    profiler._torch.install()
    globals().update(ops.exported, erase_stream=npu.streams.erase_stream)

    if _variables.on("TORCH_TRANSFER_TO_NPU"):
        from .contrib import transfer_to_npu


if getattr(torch.__spec__, "_initializing", False):  # `import torch` is loading this package
    try:
        _start()
    except Exception as error:
        _autoload_error = error
else:
    _start()

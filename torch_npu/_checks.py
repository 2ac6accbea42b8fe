# SPDX-License-Identifier: BSD-3-Clause
"""What must hold before libtorch_npu.so is loaded: the right PyTorch, no other accelerator, no second torch_npu.

Each check raises with both sides named and what to type. Nothing here loads a library of ours, so that a failed import
leaves no trace and can be tried again.
"""

import os
import warnings
from importlib import metadata

import torch
from anynpu import versions
from anynpu.versions import minor

from . import _variables, version
from .utils._error_code import ErrCode, pta_error


def right_pairs(torch_text: str) -> str:
    """The rows of the published table for this PyTorch, as text: "torch-npu 2.12.0 with CANN 9.1.0"."""
    return " or ".join(f"torch-npu {npu} with CANN {cann}" for npu, _, cann in versions.rows_for(torch=torch_text)[:2])


def torch_fits() -> None:
    """ImportError if the running PyTorch is not of the minor version that the bridge is built for."""
    running = torch.__version__
    if minor(running) == minor(version.torch_version):
        return
    pairs = right_pairs(running)
    raise ImportError(
        f"torch {running} and torch_npu {version.__version__} do not fit: this torch_npu needs torch "
        f"{'.'.join(map(str, minor(version.torch_version)))}.x (built for {version.torch_version}, with CANN "
        f"{versions.CANN}). "
        f"Right pair: pip install torch=={version.torch_version}"
        + (f"; or keep torch {running} and install {pairs}" if pairs else "")
        + "."
        + pta_error(ErrCode.NOT_SUPPORT)
    )


def cann_fits(found: str, where: str) -> None:
    """ImportError if the CANN of version `found`, opened from `where`, is older than this torch_npu needs.

    A CANN that does not tell its version ("") passes: a missing function is then a named error at its first use.
    """
    if minor(found) >= versions.CANN_OLDEST or minor(found) == (0, 0):
        return
    raise ImportError(
        f"CANN {found} ({where}) and torch_npu {version.__version__} do not fit: this torch_npu needs CANN "
        f"{'.'.join(map(str, versions.CANN_OLDEST))} or newer. Right pair: CANN {versions.CANN}, torch "
        f"{version.torch_version}, torch_npu {version.__version__}." + pta_error(ErrCode.NOT_SUPPORT)
    )


def one_accelerator() -> None:
    """RuntimeError if this PyTorch already has another accelerator with a usable device.

    A CUDA build without a usable GPU is fine: PyTorch then takes the registered backend.
    """
    try:
        accelerator = torch._C._get_accelerator()
    except RuntimeError:
        return
    if accelerator.type in ("cpu", "npu", torch._C._get_privateuse1_backend_name()):
        return
    if accelerator.type == "cuda" and not torch.cuda.is_available():
        return
    raise RuntimeError(
        f"Two accelerators cannot be used at the same time in PyTorch: npu and {accelerator.type}. You can install the cpu "
        f"version of PyTorch to use your npu device, or use the {accelerator.type} device with "
        f"'export TORCH_DEVICE_BACKEND_AUTOLOAD=0'." + pta_error(ErrCode.NOT_SUPPORT)
    )


def one_distribution(folder: str) -> None:
    """Tells of a second torch_npu (the vendor's wheel): ImportError if its files lie among ours, else a warning.

    Args:
        folder: this package's folder.
    """
    mixed = [name for name in ("_init", "op_plugin", "acl.json") if os.path.exists(os.path.join(folder, name))]
    if mixed:
        raise ImportError(
            f"{folder} holds files of two different torch_npu packages: AnyNPU's {version.__version__} and the official wheel's "
            f"({', '.join(mixed)}). Remove both and install one: pip uninstall -y torch-npu; rm -r {folder}; then "
            f"pip install the one you want." + pta_error(ErrCode.NOT_SUPPORT)
        )
    others = {}
    for dist in metadata.distributions(name="torch-npu"):
        if "+anynpu" not in dist.version:
            others[str(dist.locate_file("torch_npu"))] = dist.version
    for place, other in others.items():
        if not _variables.quiet():
            warnings.warn(
                f"two torch_npu packages are installed: this process uses AnyNPU's {version.__version__} from {folder}; the "
                f"official torch-npu {other} in {place} is not used. Uninstall one (pip uninstall torch-npu) to be sure of "
                "which runs.",
                stacklevel=4,
            )

# SPDX-License-Identifier: BSD-3-Clause
"""What a bug report should say about the machine: `python -m torch_npu.utils.collect_env`.

torch.utils.collect_env with the versions of torch_npu and of the CANN, and the devices. `anynpu doctor` says what is wrong.
"""

from typing import Any

import torch
from torch.utils import collect_env as _torch

__all__: list[str] = []


def get_cann_version() -> str:
    """Version of the CANN in use, "not known" if none opens or it does not tell."""
    from . import cann

    return cann.get_cann_version() or "not known"


def get_torch_npu_version() -> str:
    """torch_npu.__version__."""
    import torch_npu

    return torch_npu.__version__


def get_env_info() -> dict[str, Any]:
    """All of it by name: the fields of torch.utils.collect_env, then torch_npu_version, cann_version and npu_devices."""
    found = _torch.get_env_info()._asdict()
    found = {name: value for name, value in found.items() if not name.startswith(("cuda", "nvidia", "cudnn", "hip", "miopen"))}
    try:
        devices = [f"NPU {index}: {torch.npu.get_device_name(index)}" for index in range(torch.npu.device_count())]
    except RuntimeError as error:
        devices = [str(error).partition("\n")[0]]
    reason = "" if devices else torch.npu.why_unavailable()
    extra = {
        "torch_npu_version": get_torch_npu_version(),
        "cann_version": get_cann_version(),
        "npu_devices": "\n".join(devices) or f"none: {reason}",
    }
    return found | extra


LABELS = {
    "torch_version": "PyTorch version",
    "torch_npu_version": "Torch-npu version",
    "is_debug_build": "Is debug build",
    "os": "OS",
    "gcc_version": "GCC version",
    "clang_version": "Clang version",
    "cmake_version": "CMake version",
    "libc_version": "Libc version",
    "python_version": "Python version",
    "python_platform": "Python platform",
    "is_xnnpack_available": "Is XNNPACK available",
    "cpu_info": "CPU",
    "cann_version": "CANN",
    "npu_devices": "NPU",
    "pip_packages": "Versions of relevant libraries",
}


def get_pretty_env_info() -> str:
    """get_env_info() as a page of text."""
    found, lines = get_env_info(), []
    for name, label in LABELS.items():
        value = str(found.get(name) if found.get(name) is not None else "Could not collect").strip()
        below = "\n" in value or name in ("cpu_info", "cann_version", "npu_devices", "pip_packages")
        lines.append(f"\n{label}:\n{value}" if below else f"{label}: {value}")
    return "\n".join(lines)


def main() -> None:
    """Prints it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Version and dependencies of the distribution torch-npu, decided when it is built.

The version begins with that of the PyTorch that is installed, then comes the build number of torch_npu/version.py.

A local `pip install .` takes the toolkit (distribution anynpu) from the same source tree; a release build
(ANYNPU_RELEASE=1) names the published version. torch is pinned to the minor version that the bridge is compiled against.
"""
from __future__ import annotations

import os
import pathlib
import re

VERSION = "0.1.0"


def dynamic_metadata(field: str, settings: dict | None = None, *_: object) -> str | list[str]:
    if field not in ("version", "dependencies"):
        raise ValueError(f"this provider knows 'version' and 'dependencies' only, not '{field}'")
    try:
        import torch
    except ImportError:
        raise SystemExit(
            "torch-npu builds against the torch that is installed, and there is none: pip install torch==2.13.0, then "
            "pip install --no-build-isolation ."
        ) from None
    source = pathlib.Path(__file__).resolve().parent.parent
    if field == "version":
        build = re.search(r"^build = (\d+)$", (source / "torch_npu/version.py").read_text(), re.MULTILINE)[1]
        return f"{torch.__version__.split('+')[0]}+anynpu.{build}"
    major, minor = torch.__version__.split(".")[:2]
    folder = source / "anynpu"
    toolkit = f"anynpu=={VERSION}" if os.environ.get("ANYNPU_RELEASE") == "1" else f"anynpu @ {folder.as_uri()}"
    return [f"torch=={major}.{minor}.*", "numpy", "pyyaml", toolkit]

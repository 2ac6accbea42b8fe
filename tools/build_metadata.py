# SPDX-License-Identifier: BSD-3-Clause
"""Dependencies of the distribution torch-npu, decided when it is built.

A local `pip install .` takes the toolkit (distribution anynpu) from the same source tree; a release build
(ANYNPU_RELEASE=1) names the published version. torch is pinned to the minor version that the bridge is compiled against.
"""
from __future__ import annotations

import os
import pathlib

VERSION = "0.1.0"


def dynamic_metadata(field: str, settings: dict | None = None, *_: object) -> list[str]:
    if field != "dependencies":
        raise ValueError(f"this provider knows 'dependencies' only, not '{field}'")
    try:
        import torch
    except ImportError:
        raise SystemExit(
            "torch-npu builds against the torch that is installed, and there is none: pip install torch==2.13.0, then "
            "pip install --no-build-isolation ."
        ) from None
    major, minor = torch.__version__.split(".")[:2]
    folder = pathlib.Path(__file__).resolve().parent.parent / "anynpu"
    toolkit = f"anynpu=={VERSION}" if os.environ.get("ANYNPU_RELEASE") == "1" else f"anynpu @ {folder.as_uri()}"
    return [f"torch=={major}.{minor}.*", "numpy", "pyyaml", toolkit]

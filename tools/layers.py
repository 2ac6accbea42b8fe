# SPDX-License-Identifier: BSD-3-Clause
"""Checks the shape of the tree: who includes whom, SPDX lines, file lengths, nothing generated in git.

Prints each offence and exits 1 if there is one.
"""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
ABI = ("acl/", "toolchain/", "aclnn/", "aclnnop/", "hccl/", "anynpu/", "profiling/", "dcmi/")

# folder → prefixes (relative to cann/) that its files may include, besides its own folder and the ABI; onnx-ml.pb-c.h and
# variable_rows.h are generated
ALLOWED = {
    "cann/include": (),
    "cann/base": (),
    "cann/kernels": ("base/",),
    "cann/runtime": ("base/",),
    "cann/ops": ("base/", "kernels/", "runtime/door.h"),
    "cann/hccl": ("base/", "kernels/", "runtime/"),
    "cann/profiler": ("base/", "runtime/door.h"),
    "cann/graph": ("base/", "ops/", "runtime/door.h", "runtime/model.h", "runtime/aipp.h", "onnx-ml.pb-c.h"),
    "cann/dcmi": ("base/",),
    "cann/tools": ("base/", "dcmi/", "graph/", "tools/"),
    "acl": (),
    "torch_npu/csrc": ("variable_rows.h",),
}
LONGEST = 1000
SPDX_KINDS = {".c", ".h", ".cpp", ".hpp", ".py", ".sh", ".txt", ".cmake"}
GENERATED = re.compile(r"\.(so|o|a|pyc|om|whl)$|(^|/)build/")


def tracked() -> list[pathlib.Path]:
    out = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [pathlib.Path(line) for line in out.splitlines() if (ROOT / line).is_file()]


def include_offences(path: pathlib.Path, text: str) -> list[str]:
    folder = next((f for f in ALLOWED if path.is_relative_to(f)), None)
    if folder is None or path.suffix not in {".c", ".h", ".cpp", ".hpp"}:
        return []
    own = folder.removeprefix("cann/") + "/"
    offences = []
    for name in INCLUDE.findall(text):
        if name.startswith(ABI) or name.startswith(own) or name.startswith(ALLOWED[folder]):
            continue
        if (ROOT / path.parent / name).is_file() or (ROOT / folder / name).is_file():
            continue
        if folder == "torch_npu/csrc" and name.startswith(("ATen/", "c10/", "torch/")):
            continue
        offences.append(f"{path}: includes {name}, which {folder} may not depend on")
    return offences


def main() -> None:
    offences = []
    for path in tracked():
        if GENERATED.search(str(path)):
            offences.append(f"{path}: generated files don't belong in git")
            continue
        if path.suffix not in SPDX_KINDS:
            continue
        text = (ROOT / path).read_text(errors="replace")
        if path.suffix in {".c", ".h", ".cpp", ".hpp", ".py", ".sh"}:
            if text.strip() and "SPDX-License-Identifier: BSD-3-Clause" not in text[:200]:
                offences.append(f"{path}: no SPDX line")
            if text.count("\n") > LONGEST:
                offences.append(f"{path}: {text.count(chr(10))} lines, more than {LONGEST}")
        offences += include_offences(path, text)
    print("\n".join(offences) or "layers: clean")
    sys.exit(bool(offences))


if __name__ == "__main__":
    main()

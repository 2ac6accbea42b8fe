# SPDX-License-Identifier: BSD-3-Clause
"""What in a script written for CUDA an NPU cannot do, found by reading it: nothing is run.

transfer_to_npu rewrites what goes through torch.cuda; what goes past it (CUDA C, other libraries for CUDA, low-level calls) it
cannot.
"""

import ast
from typing import NamedTuple

PAST_TORCH = {
    "pycuda": "CUDA from Python, past PyTorch",
    "cupy": "arrays of CUDA: use torch tensors on npu",
    "cudf": "data frames of CUDA",
    "cuml": "machine learning of CUDA",
    "pynvml": "asks the driver of NVIDIA: npu-smi or libdcmi here",
    "nvidia_smi": "asks the driver of NVIDIA: npu-smi here",
    "tensorrt": "engines of NVIDIA: atc makes offline models here",
    "torch_tensorrt": "engines of NVIDIA: atc makes offline models here",
    "apex": "kernels in CUDA C: torch.amp, and torch_npu.optim for fused optimizers",
    "flash_attn": "kernels in CUDA C: torch.nn.functional.scaled_dot_product_attention or torch_npu.npu_fusion_attention",
    "xformers": "kernels in CUDA C: torch.nn.functional.scaled_dot_product_attention",
    "bitsandbytes": "kernels in CUDA C: torch_npu.npu_quant_matmul and friends",
    "transformer_engine": "kernels of NVIDIA: torch.autocast with bfloat16",
    "numba.cuda": "kernels of CUDA",
    "triton": "kernels of Triton: a compiler for the device is needed, which a software NPU has not",
}
LOW_LEVEL = {
    "torch.cuda.cudart": "the CUDA runtime itself",
    "torch.cuda.nvtx": "marks for NVIDIA's profiler: torch_npu.npu.mstx",
    "torch.cuda.caching_allocator_alloc": "raw memory: torch.npu.caching_allocator_alloc",
    "torch.cuda.jiterator": "kernels compiled for CUDA",
    "torch.cuda.comm": "copies between CUDA devices: torch.distributed",
    "torch.cuda.nccl": "NCCL itself: torch.distributed with hccl",
    "torch.utils.cpp_extension.CUDAExtension": "CUDA C: write it in C++ or with aclnn calls",
    "torch.utils.cpp_extension.load_inline": "fine for C++; with cuda_sources it needs CUDA C",
    "torch.ops.load_library": "a library of operators: it must be built for the NPU",
}


class Remark(NamedTuple):
    """One place of a script."""

    line: int
    wrong: bool
    """It cannot work; else a remark."""
    text: str


def _dotted(node: ast.AST) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.remarks: list[Remark] = []
        self.cuda: list[int] = []
        self.transfer = self.accelerate = self.npu = False

    def module(self, name: str, line: int) -> None:
        for known, why in PAST_TORCH.items():
            if name == known or name.startswith(known + "."):
                self.remarks.append(Remark(line, True, f"imports {name}: {why}"))
        self.transfer |= name.endswith("transfer_to_npu")
        self.accelerate |= name.partition(".")[0] == "accelerate"
        self.npu |= name.partition(".")[0] == "torch_npu"

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.module(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.module(node.module or "", node.lineno)
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            self.module(full, node.lineno)
            self.name(full, node.lineno)

    def name(self, full: str, line: int) -> None:
        for known, why in LOW_LEVEL.items():
            if full == known or full.startswith(known + "."):
                fine = known.endswith(("load_inline", "load_library"))
                self.remarks.append(Remark(line, not fine, f"uses {full}: {why}"))
                return
        if full.startswith("torch.cuda._"):
            self.remarks.append(Remark(line, False, f"uses {full}, which is PyTorch's own and may not exist for npu"))
        if full.startswith("torch.cuda"):
            self.cuda.append(line)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        full = _dotted(node)
        if full:
            self.name(full, node.lineno)
        else:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
            self.cuda.append(node.lineno)
        for keyword in node.keywords:
            if keyword.arg == "cuda_sources":
                self.remarks.append(Remark(node.lineno, True, "compiles CUDA C (cuda_sources)"))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            if node.value == "cuda" or node.value.startswith("cuda:"):
                self.cuda.append(node.lineno)
            elif node.value.endswith((".cu", ".cuh")):
                self.remarks.append(Remark(node.lineno, True, f"names a source in CUDA C: {node.value}"))
            elif node.value == "nccl":
                self.remarks.append(Remark(node.lineno, False, "the backend nccl: hccl here (transfer_to_npu changes it)"))


def read_script(path: str) -> list[Remark]:
    """Remarks by line.

    Raises:
        OSError, SyntaxError, ValueError: it cannot be read or is not Python.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    reader = _Reader()
    reader.visit(ast.parse(text, path))
    if reader.cuda and not reader.transfer:
        places = ", ".join(map(str, sorted(set(reader.cuda))[:8]))
        advice = "write `from torch_npu.contrib import transfer_to_npu` first in the script, or set TORCH_TRANSFER_TO_NPU=1"
        reader.remarks.append(Remark(min(reader.cuda), True, f"uses cuda on lines {places} and nothing redirects it: {advice}"))
    if reader.transfer and reader.accelerate:
        text = "transfer_to_npu and accelerate in one program: accelerate finds the NPU by itself, and may then see cuda; use one"
        reader.remarks.append(Remark(1, False, text))
    return sorted(set(reader.remarks))

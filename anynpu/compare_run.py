# SPDX-License-Identifier: BSD-3-Clause
"""One run of `anynpu compare`: a script on a device, with its losses, their times, and (on a device other than the CPU) each
operator of the first steps computed again on the CPU from the same inputs.

Losses are what backward() is called on (before a GradScaler scales them). Devices that the script names (cuda, npu) are turned
into the wanted one; on npu a script for CUDA runs through transfer_to_npu.

    python -m anynpu.compare_run --device npu --record npu.json script.py its arguments
"""

import argparse
import contextlib
import functools
import json
import os
import random
import runpy
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

RANDOM = ("rand", "bernoulli", "dropout", "normal", "uniform", "multinomial", "exponential", "cauchy", "geometric", "poisson")
UNDEFINED = ("empty", "new_empty", "resize", "set_", "_local_scalar", "item", "record_stream")


class Enough(BaseException):
    """The wanted number of steps is reached."""


class Recorder:
    """What a run leaves behind."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen = chosen
        self.losses: list[float] = []
        self.times: list[float] = []
        self.samples = 0
        self.unscaled: float | None = None
        self.depth = 0
        self.operators = Operators(self) if chosen.operators else None

    def loss(self, value: Any) -> None:
        """Called with what backward() starts from."""
        if getattr(value, "numel", lambda: 0)() != 1:
            return
        number = self.unscaled if self.unscaled is not None else float(value.detach())
        self.unscaled = None
        self.losses.append(number)
        self.times.append(time.perf_counter())
        if self.chosen.steps and len(self.losses) > self.chosen.steps:
            self.losses.pop()
            raise Enough

    def write(self) -> None:
        """The record, as JSON."""
        import torch

        data: dict[str, Any] = {"losses": self.losses, "times": self.times, "samples": self.samples}
        data["operators"] = self.operators.summary() if self.operators else None
        if "torch_npu" in sys.modules and self.chosen.device.startswith("npu"):
            data["fallbacks"] = torch.npu.utils.cpu_fallback_count()
            data["on_device"] = torch.npu.is_initialized() and torch.npu.max_memory_allocated() > 0
        with open(self.chosen.record, "w", encoding="utf-8") as file:
            json.dump(data, file)


class Operators:
    """Each operator beside its result on the CPU."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.compared = 0
        self.first: dict[str, Any] | None = None
        self.worst, self.worst_name = 0.0, "-"
        self.skipped: dict[str, int] = {}

    def wanted(self) -> bool:
        """Still in the first steps."""
        return len(self.recorder.losses) < self.recorder.chosen.operators

    def summary(self) -> dict[str, Any]:
        """For the record."""
        return {
            "compared": self.compared,
            "first": self.first,
            "worst": self.worst,
            "worst_name": self.worst_name,
            "skipped": sorted(self.skipped),
        }

    def run(self, function: Any, args: tuple, kwargs: dict) -> Any:
        """Runs the operator, and on the CPU from copies of the arguments; keeps the farthest and the first difference."""
        import torch
        from torch.utils._pytree import tree_leaves, tree_map

        name = str(function)
        leaves = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        there = [x for x in leaves if x.device.type not in ("cpu", "meta")]
        bare = name.removeprefix("aten.").partition(".")[0]
        if not there or any(word in bare for word in UNDEFINED) or "_to_copy" in bare or "copy_" in bare:
            return function(*args, **kwargs)
        if any(word in bare for word in RANDOM) and not bare.startswith(("native_dropout_backward", "batch_norm")):
            self.skipped[name] = self.skipped.get(name, 0) + 1
            return function(*args, **kwargs)

        def to_cpu(x: Any) -> Any:
            if isinstance(x, torch.Tensor):
                return x.detach().cpu().clone() if x.device.type != "cpu" else x.detach().clone()
            return torch.device("cpu") if isinstance(x, torch.device) and x.type != "cpu" else x

        copies = tree_map(to_cpu, (args, kwargs))
        result = function(*args, **kwargs)
        try:
            expected = function(*copies[0], **copies[1])
        except Exception:
            self.skipped[name] = self.skipped.get(name, 0) + 1
            return result
        self.compared += 1
        for got, wanted in zip(tree_leaves(result), tree_leaves(expected)):
            if isinstance(got, torch.Tensor) and isinstance(wanted, torch.Tensor) and got.shape == wanted.shape:
                self.look(name, got, wanted, there)
        return result

    def look(self, name: str, got: Any, wanted: Any, inputs: list[Any]) -> None:
        """One result beside the other."""
        import torch

        chosen = self.recorder.chosen
        got, wanted = got.detach().cpu(), wanted.detach()
        if not got.numel() or got.is_sparse:
            return
        kind = torch.complex128 if got.is_complex() else torch.float64
        a, b = got.to(kind), wanted.to(kind)
        same = (a == b) | (a.isnan() & b.isnan())
        apart = torch.where(same, torch.zeros_like(a.abs()), (a - b).abs())
        apart = torch.where(apart.isnan(), torch.full_like(apart, float("inf")), apart)
        scale = float(b.abs().nan_to_num(0, 0, 0).max())
        half = got.dtype in (torch.float16, torch.bfloat16)
        rtol = max(chosen.rtol, 2e-2) if half else chosen.rtol
        far = float(apart.max())
        relative = far / scale if scale else far
        if relative > self.worst:
            self.worst, self.worst_name = relative, name
        if far > chosen.atol + rtol * scale and self.first is None:
            shapes = ", ".join(f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}" for x in inputs[:4])
            self.first = {
                "name": name,
                "inputs": shapes,
                "step": len(self.recorder.losses),
                "difference": far,
                "where": self.where(),
            }

    @staticmethod
    def where() -> str:
        """The innermost line of the user's program."""
        for frame in reversed(traceback.extract_stack()):
            if not any(part in frame.filename for part in ("/torch/", "/torch_npu/", "/anynpu/", "<frozen", "runpy")):
                return f"{frame.filename}:{frame.lineno} in {frame.name}"
        return ""


def _redirect(value: Any, device: str) -> Any:
    import torch

    if isinstance(value, str) and value.partition(":")[0] in ("cuda", "npu"):
        return device if device == "cpu" else device.partition(":")[0] + value[len(value.partition(":")[0]) :]
    if isinstance(value, torch.device) and value.type in ("cuda", "npu"):
        return torch.device(device) if device == "cpu" else torch.device(device.partition(":")[0], value.index or 0)
    return value


def _modes(recorder: Recorder) -> list[Any]:
    """The modes that the script runs under."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    device = recorder.chosen.device

    class Devices(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            name = getattr(function, "__name__", "")
            if name in ("cuda", "npu") and args and isinstance(args[0], torch.Tensor):
                return args[0].to(device)
            args = tuple(_redirect(x, device) for x in args)
            kwargs = {key: _redirect(x, device) for key, x in (kwargs or {}).items()}
            return function(*args, **kwargs)

    class Beside(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            operators = recorder.operators
            if not operators.wanted():
                return function(*args, **(kwargs or {}))
            return operators.run(function, args, kwargs or {})

    return [Devices()] + ([Beside()] if recorder.operators else [])


def _watch(recorder: Recorder) -> None:
    """Hooks of backward, of scalers, and of the outermost module's call."""
    import torch

    def before(function: Callable, note: Callable[[tuple, dict], None]) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            note(args, kwargs)
            return function(*args, **kwargs)

        return call

    def scaled(args: tuple, kwargs: dict) -> None:
        value = args[1] if len(args) > 1 else kwargs.get("outputs")
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            recorder.unscaled = float(value.detach())

    def backward(args: tuple, kwargs: dict) -> None:
        starts = args[0] if args else kwargs.get("tensors")
        for tensor in starts if isinstance(starts, (tuple, list)) else (starts,):
            recorder.loss(tensor)

    torch.autograd.backward = before(torch.autograd.backward, backward)
    torch.amp.GradScaler.scale = before(torch.amp.GradScaler.scale, scaled)
    inner = torch.nn.Module.__call__

    def module_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.depth == 0 and args and isinstance(args[0], torch.Tensor) and args[0].dim() and self.training:
            recorder.samples = max(recorder.samples, args[0].shape[0])
        recorder.depth += 1
        try:
            return inner(self, *args, **kwargs)
        finally:
            recorder.depth -= 1

    torch.nn.Module.__call__ = module_call
    if recorder.chosen.device == "cpu":
        for name in ("cuda", "npu"):
            setattr(torch.nn.Module, name, lambda self, *args, **kwargs: self)


@contextlib.contextmanager
def _autocast(chosen: argparse.Namespace) -> Iterator[None]:
    import torch

    # One context for the whole script, so no cache: cast weights would outlive the optimizer's step.
    kind = chosen.device.partition(":")[0]
    on = torch.autocast(kind, dtype=torch.bfloat16, cache_enabled=False) if chosen.amp else contextlib.nullcontext()
    with on:
        yield


def _prepare(device: str) -> None:
    """PyTorch with the device; seeds for scripts that set none."""
    os.environ["DEVICE"] = os.environ["DEV"] = device
    import torch

    kind = device.partition(":")[0]
    if kind == "npu":
        import torch_npu  # noqa: F401

        if not torch.cuda.is_available():
            from torch_npu.contrib import transfer_to_npu  # noqa: F401
    elif kind == "cuda" and not torch.cuda.is_available():
        raise SystemExit("anynpu compare: this PyTorch has no CUDA device")
    random.seed(0)
    torch.manual_seed(0)
    numpy = sys.modules.get("numpy")
    if numpy:
        numpy.random.seed(0)


def main() -> int:
    """Runs the script; its exit status."""
    parser = argparse.ArgumentParser(prog="anynpu.compare_run")
    parser.add_argument("--device", required=True)
    parser.add_argument("--record", required=True)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--operators", type=int, default=0)
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--atol", type=float, default=1e-5)
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    _prepare(chosen.device)
    recorder = Recorder(chosen)
    _watch(recorder)
    sys.argv = [chosen.script, *chosen.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(chosen.script)))
    status = 0
    try:
        with contextlib.ExitStack() as stack:
            for mode in _modes(recorder):
                stack.enter_context(mode)
            stack.enter_context(_autocast(chosen))
            runpy.run_path(chosen.script, run_name="__main__")
    except Enough:
        pass
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except BaseException:
        traceback.print_exc()
        status = 1
    recorder.write()
    return status


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""Ten networks from torch through torch.onnx and atc to the device: results by C, by acl and by anynpu.offline equal those of
torch and onnxruntime on the CPU, with fixed and with chosen batch, in float and in half precision."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import anynpu.offline
import numpy as np
import onnxruntime
import pytest
import torch
import torch_npu  # noqa: F401 — initialises the device that acl shares
from conftest import convert
from networks import NETWORKS, Network
from sample import Program

KEEP = "--precision_mode_v2=origin"
BATCHES = (1, 2, 4)


def arrays(tensors: tuple[torch.Tensor, ...]) -> list[np.ndarray]:
    return [t.numpy() for t in tensors]


def compare(got: list[np.ndarray], wanted: list[np.ndarray], tolerance: float) -> None:
    """Largest difference in relation to the output's size (at least 1)."""
    assert len(got) == len(wanted)
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        assert a.shape == b.shape, f"output {i}: {a.shape}, not {b.shape}"
        if b.dtype.kind in "iub":
            assert (a == b).all(), f"output {i}"
        elif b.size:
            gap = np.abs(a.astype(np.float64) - b).max() / max(1.0, np.abs(b).max())
            assert gap <= tolerance, f"output {i}: {gap:.2e}"


def matched(got: list[np.ndarray], wanted: list[np.ndarray]) -> list[np.ndarray]:
    """A detector's results in the order of the wanted ones: each of those takes the nearest box of its class that is left.
    In half precision close scores change places."""
    boxes, _, classes = got
    order: list[int] = []
    for box, kind in zip(wanted[0], wanted[2], strict=True):
        left = [i for i in range(len(boxes)) if classes[i] == kind and i not in order]
        assert left, f"no box of class {kind} is left for {box}"
        order.append(min(left, key=lambda i: np.abs(boxes[i] - box).max()))
    assert len(order) == len(boxes)
    return [a[order] for a in got]


def run_onnxruntime(path: pathlib.Path, network: Network, inputs: tuple[torch.Tensor, ...]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(network.names, arrays(inputs), strict=True)))


@pytest.fixture(scope="module", params=list(NETWORKS))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, pathlib.Path]:
    torch.npu.init()
    network = NETWORKS[request.param]()
    folder = tmp_path_factory.mktemp(request.param)
    network.export(folder / "fixed.onnx")
    return network, folder


def test_fixed_batch_in_float(case: tuple[Network, pathlib.Path], runner: Callable) -> None:
    network, folder = case
    om = convert(folder / "fixed.onnx", folder / "fixed.om", KEEP)
    wanted = arrays(network.reference())
    compare(run_onnxruntime(folder / "fixed.onnx", network, network.inputs), wanted, 1e-4)
    compare(runner(om, arrays(network.inputs), [w.dtype for w in wanted]), wanted, 1e-4)
    program = Program(str(om))
    for _ in range(2):
        compare(program.run(arrays(network.inputs)), wanted, 1e-4)
    program.close()
    with anynpu.offline.load(om) as model:
        for _ in range(3):
            got = model(*(t.npu() for t in network.inputs))
            compare([t.cpu().numpy() for t in (got if isinstance(got, tuple) else (got,))], wanted, 1e-4)


def test_fixed_batch_in_half(case: tuple[Network, pathlib.Path]) -> None:
    network, folder = case
    om = convert(folder / "fixed.onnx", folder / "half.om", "--precision_mode=force_fp16")
    wanted = arrays(network.reference())
    program = Program(str(om))
    got = program.run(arrays(network.inputs))
    program.close()
    if network.outputs == ("boxes", "scores", "classes"):
        got = matched(got, wanted)
    compare(got, wanted, 1e-2)


def test_chosen_batch(case: tuple[Network, pathlib.Path], runner: Callable) -> None:
    network, folder = case
    if network.batch[0] is None:
        pytest.skip("takes one picture")
    network.export(folder / "open.onnx", dynamic=True)
    shapes = []
    for name, value, axis in zip(network.names, network.inputs, network.batch, strict=True):
        sizes = ["-1" if d == axis else str(s) for d, s in enumerate(value.shape)]
        shapes.append(f"{name}:{','.join(sizes)}")
    sizes = ",".join(map(str, BATCHES))
    om = convert(
        folder / "open.onnx", folder / "open.om", KEEP, f"--input_shape={';'.join(shapes)}", f"--dynamic_batch_size={sizes}"
    )
    program = Program(str(om))
    with anynpu.offline.load(om) as model:
        for batch in BATCHES:
            inputs = network.with_batch(batch)
            wanted = arrays(network.reference(inputs))
            compare(run_onnxruntime(folder / "open.onnx", network, inputs), wanted, 1e-4)
            compare(program.run(arrays(inputs), batch), wanted, 1e-4)
            got = model(*(t.npu() for t in inputs))
            compare([t.cpu().numpy() for t in (got if isinstance(got, tuple) else (got,))], wanted, 1e-4)
            if batch == 2:
                compare(runner(om, arrays(inputs), [w.dtype for w in wanted], batch), wanted, 1e-4)
    program.close()


def test_convolutions_run_again(tmp_path: pathlib.Path) -> None:
    """What is kept of fixed weights at the first run serves the next ones, and other addresses of inputs and outputs."""
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(64, 72, 3, padding=1), torch.nn.ReLU(), torch.nn.ConvTranspose2d(72, 64, 3, padding=1)]
    net = torch.nn.Sequential(*layers).eval()
    network = Network(net, (torch.randn(2, 64, 15, 12),), ("x",), ("y",), (0,), (0,), classic=True)
    with anynpu.offline.load(convert(network.export(tmp_path / "c.onnx"), tmp_path / "c.om", KEEP)) as model:
        inputs = [torch.randn(2, 64, 15, 12) for _ in range(3)]
        resident = [x.npu() for x in inputs]
        for _ in range(2):
            for x, there in zip(inputs, resident, strict=True):
                compare([model(there).cpu().numpy()], arrays(network.reference((x,))), 1e-5)


def test_an_npu_model_is_exported(tmp_path: pathlib.Path) -> None:
    """torch.onnx.export of a module and inputs on the device, by both exporters."""
    network = NETWORKS["lenet"]()
    module, inputs = network.module.npu(), tuple(t.npu() for t in network.inputs)
    with torch.no_grad():
        wanted = [module(*inputs).cpu().numpy()]
    for classic in (False, True):
        moved = Network(module, inputs, network.names, network.outputs, network.batch, network.output_batch, classic)
        onnx = moved.export(tmp_path / f"lenet{classic}.onnx")
        compare(run_onnxruntime(onnx, network, network.inputs), wanted, 1e-4)
        with anynpu.offline.load(convert(onnx, tmp_path / f"lenet{classic}.om", KEEP)) as model:
            compare([model(*inputs).cpu().numpy()], wanted, 1e-4)
    module.cpu()


def test_an_offline_model_refuses_what_it_cannot_take(tmp_path: pathlib.Path) -> None:
    network = NETWORKS["mlp"]()
    om = convert(network.export(tmp_path / "mlp.onnx"), tmp_path / "mlp.om", KEEP)
    image = network.inputs[0].npu()
    with anynpu.offline.load(om) as model:
        assert [i.name for i in model.inputs] == ["x"] and model.outputs[0].shape == (4, 10)
        for wrong, error in (((image[:2],), ValueError), ((image.half(),), TypeError), ((image, image), TypeError)):
            with pytest.raises(error):
                model(*wrong)
        with pytest.raises(ValueError, match="is on cpu"):
            model(network.inputs[0])
        turned = image.t().contiguous().t()  # not contiguous
        compare([model(turned).cpu().numpy()], arrays(network.reference()), 1e-4)
    with pytest.raises(anynpu.offline.OfflineError, match="unloaded"):
        model(image)
    with pytest.raises(anynpu.offline.OfflineError, match="no model file"):
        anynpu.offline.load(tmp_path / "none.om")

# SPDX-License-Identifier: BSD-3-Clause
"""Tensors as Python sees them: methods, printing, copying, saving, conversions, old typed names."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch

REAL = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGER = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool]
UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]
COMPLEX = [torch.complex64, torch.complex128]
EVERY = REAL + INTEGER + UNSIGNED + COMPLEX


def test_npu_and_is_npu(two_devices):
    x = torch.ones(2)
    assert not x.is_npu and x.npu().is_npu and x.npu().device == torch.device("npu:0")
    assert x.npu(1).device == x.npu("npu:1").device == x.npu(torch.device("npu:1")).device == torch.device("npu:1")
    y = x.npu()
    assert y.npu() is y and y.npu(non_blocking=True) is y
    with torch.npu.device(1):
        assert x.npu().device.index == 1
    with pytest.raises(RuntimeError, match="Invalid device"):
        x.npu("cpu")


def test_modules_storages_and_packed_sequences(two_devices):
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    assert net.npu() is net and all(t.is_npu for t in [*net.parameters(), *net.buffers()])
    assert all(t.device.index == 1 for t in net.npu(1).parameters())
    assert all(t.device.type == "cpu" for t in net.cpu().parameters())
    storage = torch.arange(4.0).untyped_storage()
    assert not storage.is_npu and storage.npu().is_npu and storage.npu().cpu().tolist() == storage.tolist()
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(2, 3, 1), [3, 2], batch_first=True)
    assert packed.npu().is_npu and not packed.is_npu


def test_parameters_stay_the_same_objects():
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3), torch.nn.LayerNorm(3))
    net[1].weight = net[0].weight
    before = list(net.parameters())
    values = [p.detach().clone() for p in before]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for move in (lambda: net.npu(), lambda: net.to("npu:0"), lambda: net.cpu(), lambda: net.to("npu", torch.float64)):
        move()
        assert net[1].weight is net[0].weight and [id(p) for p in net.parameters()] == [id(p) for p in before]
        assert all(p.cpu().to(v.dtype).equal(v) and p.requires_grad and p.is_leaf for p, v in zip(net.parameters(), values))
    net(torch.ones(2, 3, dtype=torch.float64, device="npu")).pow(2).sum().backward()
    optimizer.step()
    assert not net[0].weight.cpu().float().equal(values[0])
    grads = [p.grad is not None for p in net.parameters()]
    net.cpu()
    assert [p.grad is not None for p in net.parameters()] == grads and net[0].weight.grad.device.type == "cpu"


def test_parameters_stay_under_weak_references():
    import weakref

    net = torch.nn.Linear(3, 3)
    reference = weakref.ref(net.weight)
    net.npu()
    assert net.weight.is_npu and reference() is net.weight


def test_data_of_another_device():
    weight = torch.nn.Parameter(torch.zeros(2, 3))
    view = weight.detach()
    weight.data = torch.ones(4, dtype=torch.int8, device="npu").half()
    assert weight.is_npu and weight.shape == (4,) and weight.dtype == torch.half and not view.is_npu
    weight.sum().backward()
    weight.grad = None
    weight.data = torch.zeros(2)
    weight.sum().backward()
    assert weight.device.type == weight.grad.device.type == "cpu"
    for other in (torch.zeros(2, device="meta"), torch.zeros(2).to_sparse(), torch.zeros(2, device="npu").to_sparse()):
        with pytest.raises(RuntimeError, match="incompatible tensor type"):
            weight.data = other


@pytest.mark.parametrize("dtype", EVERY)
def test_repr_of_every_dtype(dtype):
    x = torch.tensor([[0, 1], [1, 2]]).to(dtype)
    expected = repr(x)
    got = repr(x.npu())
    assert got.startswith("tensor([[") and "device='npu:0'" in got
    strip = lambda text: "".join(text.replace(", device='npu:0'", "").split())
    assert strip(got) == strip(expected)
    assert repr(torch.empty(0, dtype=dtype, device="npu")).startswith("tensor([], device='npu:0'")
    assert repr(torch.tensor(1, dtype=dtype, device="npu")).startswith("tensor(")


def test_repr_of_special_cases():
    assert "nan" in repr(torch.tensor([float("nan"), 1e30, float("-inf")], device="npu"))
    assert "..." in repr(torch.zeros(5000, device="npu")) and "size=(0, 3)" in repr(torch.empty(0, 3, device="npu"))
    assert "requires_grad=True" in repr(torch.ones(1, device="npu", requires_grad=True))
    assert "grad_fn=<MulBackward0>" in repr(torch.ones(1, device="npu", requires_grad=True) * 2)
    assert "Parameter containing" in repr(torch.nn.Parameter(torch.ones(1, device="npu")))
    assert repr(torch.randn(2, 2).npu()).count("device='npu:0'") == 1
    assert repr(torch.ones(2, device="npu").untyped_storage()).endswith("(device=npu:0) of size 8]")


@pytest.mark.parametrize("dtype", EVERY)
def test_pickle_and_deepcopy(dtype):
    x = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype).npu()
    for y in (copy.deepcopy(x), x.clone()):
        assert y.device == x.device and y.dtype == x.dtype and y.cpu().equal(x.cpu())
    file = io.BytesIO()
    torch.save([x, x.t()], file)
    file.seek(0)
    pairs = [torch.load(file)]
    if dtype not in UNSIGNED:  # PyTorch itself cannot unpickle those
        pairs += [pickle.loads(pickle.dumps([x, x.t()])), [copy.copy(x), copy.copy(x.t())]]
    for y, t in pairs:
        assert y.device == x.device and y.dtype == x.dtype and y.cpu().equal(x.cpu())
        assert t.stride() == x.t().stride() and t.cpu().equal(x.t().cpu())


def test_deepcopy_keeps_what_belongs_together():
    x = torch.arange(6.0, device="npu")
    pair = copy.deepcopy([x, x[2:]])
    pair[0][3] = 99
    assert pair[1][1].item() == 99 and x[3].item() == 3
    q = copy.deepcopy(torch.nn.Parameter(torch.ones(2, device="npu")))
    assert isinstance(q, torch.nn.Parameter) and q.requires_grad and q.is_npu
    net = copy.deepcopy(torch.nn.Linear(2, 2).npu())
    assert net.weight.is_npu


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("legacy", [True, False])
def test_save_and_load(weights_only, legacy, two_devices):
    x = torch.arange(6.0, device="npu:1")
    p = torch.nn.Parameter(torch.ones(2, device="npu"))
    data = {"x": x, "view": x[2:], "p": p, "half": torch.ones(2, dtype=torch.bfloat16, device="npu"), "host": torch.ones(1)}
    file = io.BytesIO()
    torch.save(data, file, _use_new_zipfile_serialization=not legacy)

    def load(where=None):
        file.seek(0)
        return torch.load(file, map_location=where, weights_only=weights_only)

    back = load()
    assert (
        back["x"].device == torch.device("npu:1")
        and back["p"].device == torch.device("npu:0")
        and back["host"].device.type == "cpu"
    )
    assert back["p"].requires_grad and isinstance(back["p"], torch.nn.Parameter) and back["half"].dtype == torch.bfloat16
    back["x"][3] = 7
    assert back["view"][1].item() == 7
    for where, device in (("cpu", "cpu"), ("npu", "npu:0"), ("npu:1", "npu:1"), (torch.device("npu:0"), "npu:0")):
        assert str(load(where)["x"].device) == device and load(where)["x"].tolist() == x.tolist()
    assert str(load({"npu:1": "npu:0"})["x"].device) == "npu:0"
    assert {str(t.device) for t in load({"npu": "cpu"}).values()} == {"cpu"}
    assert str(load({"npu": "cpu", "npu:1": "npu:0"})["x"].device) == "npu:0" and not load({"cuda:0": "cpu"})["x"].is_cpu
    assert str(load(lambda storage, location: storage)["x"].device) == "cpu"
    assert str(load(lambda storage, location: storage.npu(0))["x"].device) == "npu:0"
    with pytest.raises(RuntimeError, match="device 9 but torch.npu.device_count"):
        load("npu:9")


def test_load_from_file_with_mmap(tmp_path):
    name = str(tmp_path / "net.pt")
    torch.save(torch.nn.Linear(3, 4).npu().state_dict(), name)
    state = torch.load(name, map_location="npu", mmap=True, weights_only=True)
    assert state["weight"].is_npu and torch.load(name, mmap=True, map_location="cpu", weights_only=True)["weight"].shape == (4, 3)


def test_current_device_counts_in_map_location(two_devices):
    file = io.BytesIO()
    torch.save(torch.ones(1), file)
    file.seek(0)
    with torch.npu.device(1):
        assert torch.load(file, map_location="npu").device.index == 1


def test_numpy_and_scalars():
    x = torch.arange(3.0, device="npu")
    with pytest.raises(
        TypeError, match=r"can't convert npu:0 device type tensor to numpy. Use Tensor.cpu\(\) to copy the tensor to host"
    ):
        x.numpy()
    with pytest.raises(TypeError):
        np.asarray(x)
    assert x.numpy(force=True).tolist() == [0, 1, 2] and np.asarray(x.cpu()).tolist() == [0, 1, 2]
    assert torch.from_numpy(np.arange(3)).npu().tolist() == [0, 1, 2] and torch.as_tensor(np.ones(2), device="npu").is_npu
    assert float(x[1]) == 1.0 and int(x[2]) == 2 and bool(x[1]) and [5, 6, 7][x[2].long()] == 7 and f"{x[2]:.1f}" == "2.0"
    assert (x + np.float32(1)).tolist() == [1, 2, 3] and (x * torch.tensor(2.0)).tolist() == [0, 2, 4]
    assert x.tolist() == [0, 1, 2] and x[1].item() == 1.0 and list(x.shape) == [3] and len(x) == 3 and 2.0 in x


def test_mixed_devices_are_refused(two_devices):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(2, device="npu") + torch.ones(2)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(2, device="npu:0") + torch.ones(2, device="npu:1")


def test_typed_names():
    n = torch.npu
    x = torch.ones(2, device="npu")
    assert isinstance(x, n.FloatTensor) and not isinstance(x, n.HalfTensor) and not isinstance(x.cpu(), n.FloatTensor)
    assert x.type() == "torch.npu.FloatTensor" and x.half().type() == "torch.npu.HalfTensor"
    assert n.FloatTensor([1, 2]).tolist() == [1, 2] and n.IntTensor(2, 3).shape == (2, 3) and n.BoolTensor().numel() == 0
    assert n.LongTensor(torch.Size([4])).dtype == torch.int64 and n.ByteTensor(((1, 2),)).shape == (1, 2)
    assert x.cpu().type(n.HalfTensor).type() == "torch.npu.HalfTensor" and x.cpu().type("torch.npu.DoubleTensor").is_npu
    assert (
        n.BFloat16Tensor.dtype == torch.bfloat16
        and n.CharTensor.is_npu
        and repr(n.ShortTensor) == "<class 'torch.npu.ShortTensor'>"
    )
    assert n.FloatStorage.__module__ == "torch.npu" and n.DoubleTensor([1.5]).tolist() == [1.5]


def test_default_device():
    with torch.device("npu"):
        assert torch.ones(2).is_npu and torch.nn.Linear(2, 2).weight.is_npu
    torch.set_default_device("npu")
    try:
        assert torch.arange(3).is_npu and torch.tensor([1]).is_npu
    finally:
        torch.set_default_device(None)
    assert not torch.ones(1).is_npu


def test_like_and_new():
    x = torch.ones(2, dtype=torch.float16, device="npu")
    for y in (
        torch.zeros_like(x),
        x.new_zeros(3),
        x.new_tensor([1.0]),
        torch.empty_like(x),
        x.new_full((2,), 3.0),
        torch.rand_like(x),
    ):
        assert y.is_npu and y.dtype == torch.float16
    assert torch.zeros_like(x, device="cpu").device.type == "cpu"


def test_to_copies_only_when_asked():
    x = torch.ones(2, device="npu")
    assert x.to("npu") is x and x.to("npu:0") is x and x.to(torch.float32) is x
    assert x.to("npu", copy=True).data_ptr() != x.data_ptr()


def test_between_devices(two_devices):
    x = torch.arange(1000, device="npu:0")
    y = x.to("npu:1")
    y.add_(1)
    assert y.device.index == 1 and y.to("npu:0").equal(x + 1)
    y.copy_(x)
    assert y.cpu().equal(x.cpu())


def test_optimizer_state_follows_the_parameters():
    net = torch.nn.Linear(3, 3).npu()
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 3, device="npu")).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    fresh = torch.optim.Adam(net.parameters())
    fresh.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    assert all(state["exp_avg"].is_npu for state in fresh.state.values())


def test_hash_identity_and_containers():
    x = torch.ones(2, device="npu")
    assert {x: 1}[x] == 1 and torch.is_tensor(x) and isinstance(x, torch.Tensor) and x.layout == torch.strided
    assert torch.Tensor.npu(torch.ones(1)).is_npu
    assert x.get_device() == 0 and x.device.type == "npu" and x.data_ptr() != 0


def test_typed_storages():
    n = torch.npu
    for name, dtype in {
        "FloatStorage": torch.float32,
        "DoubleStorage": torch.float64,
        "HalfStorage": torch.float16,
        "BFloat16Storage": torch.bfloat16,
        "LongStorage": torch.int64,
        "IntStorage": torch.int32,
        "ShortStorage": torch.int16,
        "CharStorage": torch.int8,
        "ByteStorage": torch.uint8,
        "BoolStorage": torch.bool,
    }.items():
        storage_type = getattr(n, name)
        storage = torch.ones(3, dtype=dtype, device="npu").storage()
        assert storage.dtype == dtype and storage_type.__name__ == name
        with pytest.raises(RuntimeError, match="Not available for NPU storage"):
            storage_type.from_buffer(b"")
        with pytest.raises(RuntimeError, match="Not available for NPU storage"):
            storage_type._new_with_weak_ptr(0)

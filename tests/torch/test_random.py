# SPDX-License-Identifier: BSD-3-Clause
"""Seeds, generators and their states."""

import pytest
import torch


def draw(**options):
    return [
        torch.rand(5, device="npu", **options),
        torch.randn(5, device="npu", **options),
        torch.randperm(9, device="npu", **options),
    ]


def same(a, b):
    return all(x.equal(y) for x, y in zip(a, b))


def test_torch_manual_seed_covers_the_device():
    torch.manual_seed(7)
    a = draw()
    torch.manual_seed(7)
    assert same(a, draw()) and not same(a, draw())
    assert torch.npu.initial_seed() == torch.initial_seed() == 7


def test_manual_seed_of_one_device(two_devices):
    torch.npu.manual_seed_all(5)
    first = torch.rand(4, device="npu:0"), torch.rand(4, device="npu:1")
    torch.npu.manual_seed(5)
    assert torch.rand(4, device="npu:0").equal(first[0]) and not torch.rand(4, device="npu:1").equal(first[1])


def test_seed_before_initialisation(output):
    late = (
        "import torch, torch_npu; torch.manual_seed(11); print(torch.npu.is_initialized(), torch.rand(2, device='npu').tolist())"
    )
    early = "import torch, torch_npu; torch.npu.init(); torch.manual_seed(11); print(False, torch.rand(2, device='npu').tolist())"
    assert output(late) == output(early)


def test_same_numbers_whatever_the_thread_count(output):
    code = "import torch, torch_npu; torch.manual_seed(2); print(torch.randn(100_000, device='npu').double().sum().item())"
    assert output(code, OMP_NUM_THREADS="1") == output(code, OMP_NUM_THREADS="3")


def test_state_saves_and_restores():
    state = torch.npu.get_rng_state()
    assert state.dtype == torch.uint8 and state.device.type == "cpu"
    a = draw()
    torch.npu.set_rng_state(state)
    assert same(a, draw())
    for device in (0, "npu", "npu:0", torch.device("npu")):
        torch.npu.set_rng_state(state, device)
        assert torch.npu.get_rng_state(device).equal(state)


def test_state_of_all(two_devices):
    states = torch.npu.get_rng_state_all()
    assert len(states) == torch.npu.device_count()
    a = torch.rand(3, device="npu:1")
    torch.npu.set_rng_state_all(states)
    assert torch.rand(3, device="npu:1").equal(a)


def test_bad_states():
    with pytest.raises((RuntimeError, TypeError)):
        torch.npu.set_rng_state(torch.zeros(3, dtype=torch.uint8))
    with pytest.raises((RuntimeError, TypeError)):
        torch.npu.set_rng_state(torch.zeros(16))


def test_generator_object():
    g = torch.Generator("npu")
    assert isinstance(g, torch.Generator) and g.device == torch.device("npu:0")
    assert g.manual_seed(3) is g and g.initial_seed() == 3
    state, a = g.get_state(), draw(generator=g)
    g.set_state(state)
    assert same(a, draw(generator=g))
    other = torch.Generator(device="npu").manual_seed(3)
    assert same(a, draw(generator=other)) and other.seed() != 3
    copy = g.clone_state()
    assert same(draw(generator=g), draw(generator=copy))


def test_generator_of_another_device(two_devices):
    g = torch.Generator("npu:1").manual_seed(1)
    assert torch.rand(3, device="npu:1", generator=g).device.index == 1
    with pytest.raises(RuntimeError):
        torch.rand(3, device="npu", generator=torch.Generator("cpu"))


def test_offset():
    torch.npu.manual_seed(1)
    assert torch.npu._get_rng_state_offset() == 0
    torch.rand(1, device="npu")
    moved = torch.npu._get_rng_state_offset()
    assert moved > 0
    a = torch.rand(4, device="npu")
    torch.npu._set_rng_state_offset(moved)
    assert torch.rand(4, device="npu").equal(a)


def test_fork_rng():
    torch.manual_seed(1)
    a = torch.rand(3, device="npu")
    torch.manual_seed(1)
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.manual_seed(99)
        torch.rand(9, device="npu")
    assert torch.rand(3, device="npu").equal(a)
    torch.manual_seed(1)
    with torch.random.fork_rng(devices=range(torch.npu.device_count())):
        torch.rand(9, device="npu")
    assert torch.rand(3, device="npu").equal(a)


def test_seeds_from_entropy():
    torch.npu.seed()
    a = torch.npu.initial_seed()
    torch.npu.seed_all()
    assert torch.npu.initial_seed() != a
    assert len(torch.npu.default_generators) == torch.npu.device_count()
    torch.seed()


def test_dropout_repeats_with_the_seed():
    x = torch.ones(1000, device="npu")
    torch.manual_seed(4)
    a = torch.nn.functional.dropout(x, 0.3)
    torch.manual_seed(4)
    assert torch.nn.functional.dropout(x, 0.3).equal(a) and 150 < (a == 0).sum().item() < 450


def test_checkpoint_draws_the_same_mask():
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Dropout(0.5), torch.nn.Linear(64, 1)).npu()
    x = torch.randn(8, 64, device="npu", requires_grad=True)
    torch.manual_seed(5)
    net(x).sum().backward()
    expected, x.grad = x.grad, None
    torch.manual_seed(5)
    checkpoint(net, x, use_reentrant=False).sum().backward()
    assert torch.allclose(x.grad, expected)

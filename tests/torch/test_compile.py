# SPDX-License-Identifier: BSD-3-Clause
"""torch.compile, torch.export and torch.jit on the NPU."""

import io

import pytest
import torch
import torch.nn.functional as F


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """Compiled code of an earlier run is not taken."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()


def fallbacks():
    return sum(torch.npu.utils.cpu_fallback_count().values())


def training(device, backend=None):
    """Three steps of a small network with convolution, norm and dropout of probability zero."""
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3)]
    net = torch.nn.Sequential(*layers).to(device)
    run = torch.compile(net, backend=backend) if backend else net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        x, y = torch.linspace(-1, 1, 4 * 64).view(4, 1, 8, 8).to(device), torch.tensor([0, 1, 2, 1]).to(device)
        loss = F.cross_entropy(run(x), y)
        loss.backward()
        optimizer.step()
    return [loss.detach().cpu(), *(t.detach().cpu() for t in net.state_dict().values())]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "npu"])
def test_a_compiled_network_trains_as_on_the_cpu(backend):  # inductor too: tests/conformance, compile_inductor
    before = fallbacks()
    for got, expected in zip(training("npu", backend), training("cpu"), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)
    assert fallbacks() == before


def test_inductor_fuses_into_kernels_on_the_memory_of_the_npu():
    from torch._inductor.utils import run_and_get_code

    @torch.compile(backend="inductor")
    def f(a, b):
        return torch.softmax(a * 2 + b.sin(), -1), (a > b).sum(), a.half() * 2

    a, b = (torch.linspace(-2, 2, 96).view(8, 12).to("npu") for _ in range(2))
    a += 0  # a task that must be done before the kernel runs
    results, code = run_and_get_code(f, a, b)
    for got, expected in zip(results, (torch.softmax(a * 2 + b.sin(), -1), (a > b).sum(), a.half() * 2), strict=True):
        assert got.is_npu
        torch.testing.assert_close(got, expected)
    assert "run_npu_kernel(" in code[0] and "device='npu'" in code[0]


def test_inductor_refuses_what_it_has_not():
    with (
        pytest.raises(Exception, match="C\\+\\+ wrapper .* is not there for npu"),
        torch._inductor.config.patch(cpp_wrapper=True),
    ):
        torch.compile(lambda a: a * 3 + 1)(torch.ones(3, device="npu"))


def test_inductor_says_so_where_memory_cannot_be_seen(run):
    code = "import torch; print(torch.compile(lambda a: a * 2 + 1)(torch.ones(3).npu()))"
    done = run(code, ANYNPU_GUARD="1")
    assert done.returncode != 0 and "use backend='npu', 'aot_eager' or 'eager'" in done.stderr


def test_npu_backend_names_options_that_it_has_not():
    assert "npu" in torch._dynamo.list_backends()
    with pytest.raises(Exception, match="has no options, but got 'mode'"):
        torch.compile(lambda a: a + 1, backend="npu", mode="reduce-overhead")(torch.ones(3, device="npu"))


@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("last", ["input", "weight", "neither"])
def test_convolution_is_laid_out_as_on_the_cpu(kernel, last):
    from torch._subclasses.fake_tensor import FakeTensorMode

    def strides(device):
        x = torch.ones(2, 4, 5, 5, device=device, requires_grad=True)
        w = torch.ones(6, 4, kernel, kernel, device=device, requires_grad=True)
        if last == "input":
            x = x.detach().to(memory_format=torch.channels_last).requires_grad_()
        if last == "weight":
            w = w.detach().to(memory_format=torch.channels_last).requires_grad_()
        y = F.conv2d(x, w, padding=kernel // 2)
        y.sum().backward()
        return y.stride(), x.grad.stride(), w.grad.stride() if kernel == 3 else None

    if not (last == "weight" and kernel == 1):
        assert strides("npu")[0] == strides("cpu")[0]
    with FakeTensorMode():
        fake = strides("npu")
    assert strides("npu") == fake


def test_export_and_jit():
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).npu().eval()
    x = torch.randn(3, 4, device="npu")
    expected = net(x)
    program = torch.export.export(net, (x,), dynamic_shapes=({0: torch.export.Dim("n")},))
    torch.testing.assert_close(program.module()(x), expected)
    assert program.module()(torch.ones(7, 4, device="npu")).shape == (7, 2)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(x), expected)
    traced = torch.jit.trace(net, x)
    torch.testing.assert_close(traced(x), expected)
    scripted = torch.jit.script(net)
    torch.testing.assert_close(scripted(x), expected)
    file = io.BytesIO()
    torch.jit.save(traced, file)
    for where in ("npu", "cpu"):
        file.seek(0)
        loaded = torch.jit.load(file, map_location=where)
        assert next(loaded.parameters()).device.type == where
        torch.testing.assert_close(loaded(x.to(where)).cpu(), expected.cpu())
    torch.testing.assert_close(torch.jit.freeze(scripted)(x), expected)


def test_script_function_with_control_flow():
    @torch.jit.script
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        for _i in range(n):
            x = x * 2 if bool(x.sum() < 100) else x + torch.ones_like(x)
        return x

    assert f(torch.ones(3, device="npu"), 8).tolist() == f(torch.ones(3), 8).tolist()

# SPDX-License-Identifier: BSD-3-Clause
"""transfer_to_npu: programs written for CUDA. Each test is a program of its own, because the change is for the whole process."""

import pytest

FIRST = "import torch\nfrom torch_npu.contrib import transfer_to_npu\nimport io, copy\n"


@pytest.fixture
def check(output, tmp_path):
    """Runs a program from a file (TorchScript reads the source) that must end well."""

    def call(code):
        program = tmp_path / "program.py"
        program.write_text(FIRST + code + "\nprint('ok')")
        assert output(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')") == "ok"

    return call


def test_devices_and_tensors(check):
    check("""
npu = torch.device("npu:0")
assert torch.cuda.is_available() and torch.cuda.device_count() == torch.npu.device_count() and torch.cuda.current_device() == 0
x = torch.ones(2).cuda()
assert x.device == npu and x.is_cuda and x.is_npu and not torch.ones(1).is_cuda
for y in (torch.ones(2).cuda(0), torch.ones(2).to("cuda"), torch.ones(2).to("cuda:0"), torch.ones(2).to(torch.device("cuda")),
          torch.ones(2).to(device="cuda"), torch.ones(2, device="cuda:0"), torch.zeros(2, device=torch.device("cuda", 0)),
          torch.tensor([1.0], device="cuda"), x.new_zeros(2, device="cuda"), torch.randn(2, device="cuda"),
          torch.arange(3, device="cuda"), torch.empty_like(torch.ones(2), device="cuda"), torch.as_tensor([1], device="cuda"),
          torch.ones(2).to("cuda", torch.float16),
          torch.fft.fftfreq(4, device="cuda"), torch.full((2,), 1.0, device="cuda")):
    assert y.device == npu, y.device
for y in (torch.ones(2, device="cpu"), x.cpu(), torch.ones(2).to("cpu"), x.to("cpu")): assert y.device.type == "cpu"
net = torch.nn.Linear(2, 2).cuda()
assert net.weight.is_cuda and torch.nn.Linear(2, 2).to("cuda:0").weight.is_npu
assert torch.nn.Linear(2, 2, device="cuda").bias.is_npu
""")


def test_device_objects_and_contexts(check):
    check("""
d = torch.device("cuda" if torch.cuda.is_available() else "cpu")
assert isinstance(d, torch.device)
with torch.cuda.device(0), torch.cuda.device("cuda:0"), torch.cuda.device(d):
    assert torch.cuda.current_device() == 0
torch.cuda.set_device("cuda:0"); torch.cuda.synchronize(); torch.cuda.synchronize("cuda:0"); torch.cuda.synchronize(d)
with d:
    assert torch.ones(1).is_npu
torch.set_default_device("cuda"); assert torch.ones(1).is_npu and torch.rand(1).is_npu; torch.set_default_device(None)
assert torch.get_device_module("cuda") is torch.npu
p = torch.cuda.get_device_properties("cuda:0"); assert p.total_memory > 0 and torch.cuda.get_device_name(d) == p.name
assert torch.cuda.mem_get_info()[0] > 0 and torch.cuda.memory_allocated(d) >= 0 and "NPU" in torch.cuda.memory_summary()
torch.cuda.empty_cache(); torch.cuda.reset_peak_memory_stats(); torch.cuda.manual_seed_all(1); torch.cuda.manual_seed(1)
""")


def test_streams_events_generators(check):
    check("""
s = torch.cuda.Stream(); e = torch.cuda.Event(enable_timing=True)
assert isinstance(s, torch.cuda.Stream) and isinstance(s, torch.Stream) and isinstance(e, torch.cuda.Event)
with torch.cuda.stream(s): x = torch.ones(4, device="cuda") * 2
e.record(s); e.synchronize(); torch.cuda.current_stream().wait_stream(s); assert x.sum().item() == 8
g = torch.Generator(device="cuda").manual_seed(3)
assert torch.cuda.default_generators[0].device.type == "npu" and len(torch.cuda.default_generators) == torch.cuda.device_count()
assert isinstance(g, torch.Generator) and isinstance(torch.default_generator, torch.Generator) and g.device.type == "npu"
assert torch.rand(2, device="cuda", generator=g).is_npu and isinstance(torch.Generator(), torch.Generator)
assert torch.Stream("cuda").device.type == "npu" and torch.Event("cuda") is not None
state = torch.cuda.get_rng_state(); a = torch.rand(3, device="cuda"); torch.cuda.set_rng_state(state, "cuda:0")
assert a.equal(torch.rand(3, device="cuda"))
from torch.utils.data import DataLoader, TensorDataset, random_split
random_split(list(range(4)), [2, 2], generator=torch.Generator().manual_seed(1))
loader = DataLoader(TensorDataset(torch.arange(8.0)), 4, shuffle=True, generator=torch.Generator(), pin_memory=True)
assert sum(b[0].cuda(non_blocking=True).sum().item() for b in loader) == 28
""")


def test_mixed_precision(check):
    check("""
from torch.cuda.amp import autocast, GradScaler
x = torch.ones(2, 2, device="cuda")
with autocast(): assert (x @ x).dtype == torch.float16 and torch.is_autocast_enabled()
with torch.cuda.amp.autocast(dtype=torch.bfloat16): assert (x @ x).dtype == torch.bfloat16
with torch.autocast("cuda", dtype=torch.bfloat16): assert (x @ x).dtype == torch.bfloat16 == torch.get_autocast_gpu_dtype()
with torch.autocast(device_type="cuda"): assert (x @ x).dtype == torch.float16 and torch.is_autocast_enabled("cuda")
assert not torch.is_autocast_enabled()
for scaler in (GradScaler(init_scale=4.0), torch.amp.GradScaler(init_scale=4.0), torch.amp.GradScaler("cuda", init_scale=4.0)):
    p = torch.nn.Parameter(torch.ones(2, device="cuda")); o = torch.optim.SGD([p], lr=0.5)
    scaler.scale((p * 2).sum()).backward(); scaler.step(o); scaler.update()
    assert p.tolist() == [0, 0]
torch.backends.cudnn.benchmark = True; torch.backends.cuda.matmul.allow_tf32 = True
""")


def test_types_jit_and_float64_keep_their_meaning(check):
    check("""
assert torch.cuda.DoubleTensor([1.0]).dtype == torch.float64 and isinstance(torch.cuda.FloatTensor([1.0]), torch.cuda.FloatTensor)
assert torch.ones(1).type("torch.cuda.FloatTensor").is_npu and torch.ones(1, dtype=torch.float64).cuda().dtype == torch.float64
assert isinstance(torch.jit.script(torch.nn.ReLU()), torch.jit.ScriptModule)
@torch.jit.script
def f(x: torch.Tensor) -> torch.Tensor:
    return x + torch.ones([2], device=x.device) + torch.zeros_like(x) + x.new_zeros([2])
assert f(torch.ones(2, device="cuda")).tolist() == [2, 2] and f(torch.ones(2)).tolist() == [2, 2]
assert isinstance(torch.device("cpu"), torch.device) and isinstance(torch.ones(1), torch.Tensor)
assert torch.jit.trace(torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2).cuda())(torch.ones(1, 2).cuda()).is_npu
torch.set_default_tensor_type("torch.cuda.FloatTensor"); assert torch.ones(1).is_npu
torch.set_default_tensor_type(torch.FloatTensor)
""")


def test_saving_and_loading(check):
    check("""
f = io.BytesIO(); torch.save({"a": torch.ones(2, device="cuda")}, f)
for where in (None, "cuda", "cuda:0", torch.device("cuda"), {"npu:0": "cuda:0"}, "cpu"):
    f.seek(0); r = torch.load(f, map_location=where)["a"]
    assert r.device.type == ("cpu" if where == "cpu" else "npu") and r.tolist() == [1, 1], where
# a checkpoint that was saved on CUDA
import zipfile
raw = f.getvalue(); f = io.BytesIO()
with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(f, "w") as new:
    for item in old.infolist():
        data = old.read(item)
        if item.filename.endswith("data.pkl"):
            at = data.index(b"npu:0"); assert data[at - 4] == 5
            data = data[: at - 4] + b"\\x06\\0\\0\\0" + b"cuda:0" + data[at + 5 :]
        new.writestr(item, data)
f.seek(0); r = torch.load(f)["a"]; assert r.device.type == "npu" and r.tolist() == [1, 1]
net = copy.deepcopy(torch.nn.Linear(2, 2).cuda()); assert net.weight.is_cuda
""")


def test_a_training_script_as_people_write_it(check):
    check("""
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0); torch.cuda.manual_seed_all(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).to(device)
if torch.cuda.device_count() > 8: net = torch.nn.DataParallel(net)
optimizer = torch.optim.Adam(net.parameters(), lr=0.05); criterion = torch.nn.CrossEntropyLoss().cuda()
x = torch.randn(64, 4); y = (x.sum(1) > 0).long()
for epoch in range(30):
    a, b = x.to(device, non_blocking=True), y.cuda(non_blocking=True)
    optimizer.zero_grad(); loss = criterion(net(a), b); loss.backward(); optimizer.step()
if device.type == "cuda": torch.cuda.synchronize()
assert loss.item() < 0.2 and (net(x.cuda()).argmax(1).cpu() == y).float().mean() > 0.95
""")


def test_streams(check):
    check("""
stream = torch.cuda.Stream(); before = torch.cuda.current_stream()
with torch.cuda.stream(stream):
    assert torch.cuda.current_stream() == stream; y = torch.ones(3).cuda() * 2
before.wait_stream(stream); assert y.sum().item() == 6 and isinstance(stream, torch.Stream)
event = torch.cuda.Event(enable_timing=True); event.record(); torch.cuda.default_stream().synchronize(); assert event.query()
""")


def test_data_parallel_runs_on_all_npus(check):
    check("""
x, y = torch.ones(4, 2), torch.zeros(4, 1)
net = torch.nn.Linear(2, 1).cuda()
parallel = torch.nn.DataParallel(net)
assert parallel.device_ids == list(range(torch.cuda.device_count()))
out = parallel(x); assert out.is_npu and out.tolist() == net(x.cuda()).tolist() and parallel.module is net
torch.nn.functional.mse_loss(out, y.cuda()).backward(); assert net.weight.grad.is_npu
assert list(parallel.state_dict()) == ["module.weight", "module.bias"]
assert torch.nn.DataParallel(torch.nn.Linear(2, 1).cuda(), device_ids=[torch.device("cuda:0")])(x).is_npu
assert isinstance(parallel, torch.nn.DataParallel) and isinstance(parallel, torch.nn.Module)
""")


def test_environment_variable(output, run):
    code = "import torch; print(torch.ones(2).cuda().device)"
    assert output(code, TORCH_TRANSFER_TO_NPU="1") == "npu:0"
    done = run("import torch_npu", TORCH_TRANSFER_TO_NPU="yes", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert "ValueError: TORCH_TRANSFER_TO_NPU should be 0 or 1, but it is 'yes'" in done.stderr
    done = run("import torch; print(torch.ones(1).sum().item())", TORCH_TRANSFER_TO_NPU="yes")
    assert done.stdout.strip() == "1.0" and "TORCH_TRANSFER_TO_NPU should be 0 or 1" in done.stderr


def test_one_short_line_once(run):
    done = run(FIRST + "import importlib; importlib.reload(transfer_to_npu)")
    assert done.returncode == 0 and done.stderr.count("UserWarning") == 1 and "now mean torch.npu" in done.stderr
    assert run(FIRST, RANK="1").stderr == ""
    with_accelerate = run("import sys, types; sys.modules['accelerate'] = types.ModuleType('accelerate')\n" + FIRST)
    assert "use one of the two" in with_accelerate.stderr


@pytest.mark.parametrize(
    "call, text",
    [
        ("torch.cuda.nvtx.range_push('a')", "torch.profiler.record_function"),
        ("torch.cuda.cudart()", "has no counterpart on the NPU"),
        ("torch.cuda.nccl.version()", "torch.distributed with the backend hccl"),
        ("torch.cuda.jiterator._create_jit_fn('x')", "ordinary PyTorch operators"),
        ("torch.cuda.temperature()", "npu-smi info"),
        ("__import__('pycuda')", "works with CUDA only"),
        (
            "__import__('torch.utils.cpp_extension').utils.cpp_extension.CUDAExtension('a', [])",
            "CUDAExtension compiles CUDA kernels",
        ),
        (
            "from torch.utils import cpp_extension as e; e.load('a', ['a.cpp', 'a.cu'])",
            "cpp_extension.load compiles CUDA kernels",
        ),
        ("from torch.utils import cpp_extension as e; e.load_inline('a', '', cuda_sources=['x'])", "load_inline compiles CUDA"),
    ],
)
def test_what_cannot_be_mapped_says_what_to_use(run, call, text):
    done = run(FIRST + call)
    assert done.returncode != 0 and text in done.stderr.splitlines()[-1]

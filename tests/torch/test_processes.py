# SPDX-License-Identifier: BSD-3-Clause
"""Fork, spawn, DataLoader workers, threads, exits."""

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

SENTENCE = "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn' start method"

FORK = """
import multiprocessing as mp, torch, torch_npu
def child(q):
    try:
        q.put(str((torch.ones(3, device='npu') * 2).sum().item()))
    except Exception as error:
        q.put(f"{type(error).__name__}: {error}")
if __name__ == "__main__":
    BEFORE
    context = mp.get_context("fork")
    q = context.Queue()
    p = context.Process(target=child, args=(q,))
    p.start()
    print(q.get(timeout=60))
    p.join()
    print(p.exitcode, torch.ones(2, device='npu').sum().item())
"""


def test_fork_after_questions_only(output):
    before = "torch.npu.is_available(); torch.npu.device_count(); torch.npu.get_device_name(); torch.manual_seed(1)"
    assert output(FORK.replace("BEFORE", before)).split() == ["6.0", "0", "2.0"]


def test_fork_after_use_gets_the_sentence(output):
    text = output(FORK.replace("BEFORE", "torch.ones(1).npu()"))
    assert SENTENCE in text and text.endswith("0 2.0")


@pytest.mark.parametrize(
    "call",
    [
        "torch.npu.init()",
        "torch.npu.synchronize()",
        "torch.npu.current_device()",
        "torch.npu.Stream()",
        "torch.npu.Event().record()",
        "torch.npu.set_device(0)",
        "torch.npu.mem_get_info()",
        "torch.npu.get_rng_state()",
        "x + x",
        "x.cpu()",
        "torch.ones(1).npu()",
        "torch.ones(1).pin_memory()",
        "torch.load(io.BytesIO(blob))",
    ],
)
def test_every_entry_of_a_forked_child_gets_the_sentence(output, call):
    code = f"""
import io, os, sys, torch, torch_npu
x = torch.ones(2, device='npu')
buffer = io.BytesIO(); torch.save(x, buffer); blob = buffer.getvalue()
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    try:
        {call}
        text = "no error"
    except Exception as error:
        text = str(error)
    os.write(w, text.encode())
    os._exit(0)
os.close(w)
text = b""
while part := os.read(r, 65536):
    text += part
print(text.decode(), os.waitpid(pid, 0)[1])
"""
    text = output(code)
    assert SENTENCE in text and text.endswith(" 0")


def test_questions_in_a_forked_child_do_not_raise(output):
    code = """
import os, torch, torch_npu
torch.ones(1).npu()
if os.fork() == 0:
    n = torch.npu
    torch.manual_seed(3); n.manual_seed_all(3); n.empty_cache()
    ok = n._is_in_bad_fork() and not n.is_initialized() and "spawn" in n.why_not_available() and n.memory_allocated() == 0
    os._exit(0 if ok and torch.ones(2).sum() == 2 else 1)
print(os.wait()[1])
"""
    assert output(code) == "0"


def test_spawn_passes_tensors(output, tmp_path):
    program = tmp_path / "spawn.py"
    program.write_text("""
import torch, torch_npu, torch.multiprocessing as mp
def child(q, r):
    x, view, p, dtypes = q.get()
    r.put((x + 1, view.stride(), view.tolist(), type(p).__name__, p.requires_grad, [str(t.dtype) for t in dtypes], str(x.device)))
    q.get()
if __name__ == "__main__":
    context = mp.get_context("spawn")
    q, r = context.Queue(), context.Queue()
    p = context.Process(target=child, args=(q, r))
    p.start()
    x = torch.arange(6., device="npu:1").view(2, 3)
    others = [torch.ones(2, dtype=d, device="npu") for d in (torch.bfloat16, torch.bool)]
    q.put((x, x.t()[1:], torch.nn.Parameter(torch.ones(1, device="npu")), others))
    y, stride, view, kind, grad, dtypes, device = r.get(timeout=120)
    assert y.device == torch.device("npu:1") and y.tolist() == (x + 1).tolist(), y
    assert stride == (1, 3) and view == x.t()[1:].tolist() and (kind, grad) == ("Parameter", True)
    assert dtypes == ["torch.bfloat16", "torch.bool"] and device == "npu:1"
    q.put(None)
    p.join()
    print("ok", p.exitcode)
""")
    assert output(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')", PYTHONPATH_EXTRA="") == "ok 0"


def test_graph_tensors_are_not_sent():
    import torch.multiprocessing as mp

    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        mp.reductions.reduce_tensor(torch.ones(1, device="npu", requires_grad=True) * 2)


class Squares(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.tensor([index * index]), {"index": index}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("pin", [False, True])
def test_data_loader(workers, pin):
    torch.ones(1, device="npu")
    total = 0
    for squares, extra in DataLoader(Squares(), batch_size=8, num_workers=workers, pin_memory=pin):
        assert squares.is_pinned() == pin and extra["index"].is_pinned() == pin
        total += squares.to("npu", non_blocking=True).sum().item()
    assert total == sum(i * i for i in range(64))


def test_data_loader_with_spawned_workers(output, tmp_path):
    program = tmp_path / "loader.py"
    program.write_text("""
import torch, torch_npu
from torch.utils.data import DataLoader, Dataset
class OnDevice(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.full((2,), float(i), device="npu")
if __name__ == "__main__":
    torch.ones(1).npu()
    loader = DataLoader(OnDevice(), batch_size=4, num_workers=1, multiprocessing_context="spawn")
    print(sum(batch.sum().item() for batch in loader), next(iter(loader)).device)
""")
    assert output(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')") == "56.0 npu:0"


def test_a_forked_worker_that_uses_the_device_says_why():
    class Bad(Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return torch.ones(1, device="npu")

    torch.ones(1, device="npu")
    with pytest.raises(RuntimeError, match="Cannot re-initialize NPU in forked subprocess"):
        list(DataLoader(Bad(), num_workers=1, multiprocessing_context="fork"))


def test_pinned_batches_with_workers_arrive_in_order():
    data = TensorDataset(torch.arange(1000.0))
    got = torch.cat([b[0].npu(non_blocking=True) for b in DataLoader(data, 64, num_workers=2, pin_memory=True)])
    assert got.cpu().equal(torch.arange(1000.0))


@pytest.mark.parametrize(
    "ending", ["", "import os; os._exit(0)", "import sys; sys.exit(0)", "torch.npu.empty_cache()", "x = None"]
)
def test_exit_with_work_queued(run, ending):
    code = f"import torch, torch_npu\nx = torch.ones(1 << 22, device='npu')\nfor _ in range(50): x = x * 1.0001\n{ending}"
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_work_at_once():
    import threading

    results = [None] * 4

    def work(k):
        with torch.npu.stream(torch.npu.Stream()):
            x = torch.full((1000,), float(k), device="npu")
            for _ in range(20):
                x = x + 1
            results[k] = x.sum().item()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert results == [1000 * (k + 20) for k in range(4)]


def test_fallback_report_at_exit(run):
    code = "import torch, torch_npu; torch.npu.utils.cpu_fallback_count(); torch.linalg.eigvals(torch.eye(3).npu())"
    done = run(code, ANYNPU_FALLBACK_REPORT="1")
    assert done.returncode == 0 and "ran on the CPU" in done.stderr and "linalg_eig" in done.stderr
    assert "calls in all" not in run(code).stderr


SHARED = """
import gc, time, torch, torch_npu, torch.multiprocessing as mp
from torch_npu.multiprocessing import reductions
def child(q, r):
    x, view = q.get()
    assert x.device == torch.device("npu:0") and view.tolist() == [2.0, 3.0]
    x.add_(10)
    view.mul_(2)
    torch.npu.synchronize()
    r.put("changed")
    assert q.get() == "checked"
    r.put(x[:2])  # memory of another process goes on as a copy
    q.get()
    del x, view
    gc.collect()
    r.put("dropped")
    q.get()
if __name__ == "__main__":
    context = mp.get_context("spawn")
    q, r = context.Queue(), context.Queue()
    p = context.Process(target=child, args=(q, r))
    p.start()
    x = torch.arange(4.0, device="npu")
    q.put((x, x[2:]))
    assert r.get(timeout=120) == "changed"
    assert x.tolist() == [10.0, 11.0, 24.0, 26.0], x
    q.put("checked")
    y = r.get(timeout=60)
    y.zero_()
    assert y.is_npu and x[0].item() == 10
    held = len(reductions._sent.held)
    q.put(None)
    assert r.get(timeout=60) == "dropped"
    torch.npu.ipc_collect()
    print(held, len(reductions._sent.held))
    q.put(None)
    p.join()
    print(p.exitcode)
"""


def test_a_sent_tensor_is_shared_memory(output, tmp_path):
    program = tmp_path / "shared.py"
    program.write_text(SHARED)
    assert output(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')").split() == ["1", "0", "0"]


def test_memory_is_kept_until_the_receiver_has_it(output, tmp_path):
    program = tmp_path / "kept.py"
    program.write_text("""
import torch, torch_npu, torch.multiprocessing as mp
def child(q, r):
    go = q.get()
    r.put([t.sum().item() for t in (q.get() for _ in range(20))])
if __name__ == "__main__":
    context = mp.get_context("spawn")
    q, r = context.Queue(), context.Queue()
    p = context.Process(target=child, args=(q, r))
    p.start()
    q.put(None)
    for k in range(20):
        q.put(torch.full((100_000,), float(k), device="npu"))  # nobody here keeps it
        torch.full((100_000,), -1.0, device="npu")
    assert r.get(timeout=120) == [100_000.0 * k for k in range(20)]
    p.join()
    print("ok")
""")
    assert output(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')") == "ok"


EVENTS = """
import torch, torch_npu, torch.multiprocessing as mp
def child(tasks, answers):
    x = tasks.get(timeout=60)
    answers.put("has it")
    event = tasks.get(timeout=60)
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        early = event.query()
        event.wait()
        y = (x + 1).cpu()
    answers.put((early, event.query(), y.tolist()))
    own = torch.npu.Event(interprocess=True)
    own.record(stream)
    answers.put(torch.npu.Event.ipc_handle(own))
    tasks.get(timeout=60)
if __name__ == "__main__":
    mp.set_start_method("spawn")
    tasks, answers = mp.Queue(), mp.Queue()
    p = mp.Process(target=child, args=(tasks, answers))
    p.start()
    event, x = torch.npu.Event(interprocess=True), torch.zeros(3, device="npu")
    tasks.put(x)
    answers.get(timeout=60)  # sending memory waits for the device
    torch.npu._sleep(2_000_000_000)
    x += 41
    event.record()
    tasks.put(event)
    print(answers.get(timeout=60))
    other = torch.npu.Event.from_ipc_handle(0, answers.get(timeout=60))
    other.synchronize()
    print(other.query())
    tasks.put(None)
    p.join()
    print(p.exitcode)
"""


def test_an_event_orders_streams_of_two_processes(output, tmp_path):
    script = tmp_path / "events.py"
    script.write_text(EVENTS)
    code = f"import subprocess, sys; print(subprocess.run([sys.executable, {str(script)!r}], capture_output=True, text=True))"
    text = output(code)
    assert "(False, True, [42.0, 42.0, 42.0])\\nTrue\\n0\\n" in text, text


def test_a_message_to_oneself():
    import io
    import pickle
    from multiprocessing.reduction import ForkingPickler

    x = torch.arange(5.0, device="npu")
    buffer = io.BytesIO()
    ForkingPickler(buffer).dump(x)
    y = pickle.loads(buffer.getvalue())
    y.add_(1)
    assert x.tolist() == [1, 2, 3, 4, 5]
    torch.npu.ipc_collect()

# SPDX-License-Identifier: BSD-3-Clause
"""Graphs and memory pools: capture and replay give what running the same code gives."""

import json
import subprocess
from collections.abc import Callable

import pytest
import torch
import torch_npu
from torch import nn


def captured(function: Callable, **options: object) -> tuple[torch.npu.NPUGraph, object]:
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, **options):
        result = function()
    return graph, result


def test_replay_reads_what_lies_in_the_inputs_then() -> None:
    x, y = torch.arange(4.0, device="npu"), torch.ones(4, device="npu")

    def chain() -> torch.Tensor:
        z = x
        for _ in range(50):
            z = z + y
        return z * 2

    graph, out = captured(chain)
    for value in (1.0, -3.0, 7.5):
        x.fill_(value)
        graph.replay()
        assert out.tolist() == [2 * (value + 50)] * 4
    with torch.npu.stream(torch.npu.Stream()):
        graph.replay()
    torch.npu.synchronize()
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()


def test_captured_code_does_not_run() -> None:
    x = torch.zeros(3, device="npu")
    assert not torch.npu.is_current_stream_capturing()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        assert torch.npu.is_current_stream_capturing()
        x.add_(1)
    assert not torch.npu.is_current_stream_capturing()
    assert x.tolist() == [0, 0, 0]
    graph.replay()
    graph.replay()
    assert x.tolist() == [2, 2, 2]


def test_many_operators() -> None:
    torch.manual_seed(1)
    x, w = torch.randn(6, 8), torch.randn(8, 8)
    index = torch.tensor([0, 3, 5])

    def work(x: torch.Tensor, w: torch.Tensor, index: torch.Tensor) -> list[torch.Tensor]:
        a = nn.functional.gelu(x @ w)
        b = nn.functional.layer_norm(a, (8,)).softmax(-1)
        c = torch.cat([a[index], b.t()[:3, :6].contiguous().repeat(1, 2)[:, :8]]).cumsum(0)
        values = c.flatten().sort().values
        return [a, b, c, values, torch.where(a > 0, a, b).sum(), a.to(torch.float16).float(), x.index_select(0, index)]

    xs, ws, ix = x.npu(), w.npu(), index.npu()
    work(xs, ws, ix)
    graph, out = captured(lambda: work(xs, ws, ix))
    for seed in (2, 3):
        torch.manual_seed(seed)
        x = torch.randn(6, 8)
        xs.copy_(x)
        graph.replay()
        for got, expected in zip(out, work(x, w, index)):
            torch.testing.assert_close(got.cpu(), expected, rtol=2e-3, atol=2e-3)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.out = nn.Linear(4 * 8 * 8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.norm(self.conv(x))).flatten(1))


def _training(optimizer: str, graphed: bool) -> list[float]:
    torch.manual_seed(0)
    net = Net().npu()
    options = {"capturable": True} if optimizer == "AdamW" else {"momentum": 0.9}
    step = getattr(torch.optim, optimizer)(net.parameters(), lr=0.01, **options)
    x, y = torch.randn(5, 16, 1, 8, 8), torch.randint(0, 5, (5, 16))
    batch, target = torch.zeros(16, 1, 8, 8, device="npu"), torch.zeros(16, dtype=torch.long, device="npu")

    def train() -> torch.Tensor:
        step.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(net(batch), target)
        loss.backward()
        step.step()
        return loss

    losses = []
    graph = None
    for i in range(10):
        batch.copy_(x[i % 5])
        target.copy_(y[i % 5])
        if graphed and i == 3:
            graph, loss = captured(train)
        if graph:
            graph.replay()
        else:
            stream = torch.npu.Stream()  # gradients are made on the stream that will capture them
            stream.wait_stream(torch.npu.current_stream())
            with torch.npu.stream(stream):
                loss = train()
            torch.npu.current_stream().wait_stream(stream)
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("optimizer", ["AdamW", "SGD"])
def test_a_whole_training_step(optimizer: str) -> None:
    torch.npu.utils.reset_cpu_fallback_count()
    eager, replayed = _training(optimizer, False), _training(optimizer, True)
    assert eager == replayed
    assert eager[-1] < eager[0]
    assert not torch.npu.utils.cpu_fallback_count()


# ---- random numbers ----
def test_random_numbers_go_on_and_can_be_repeated() -> None:
    ones = torch.ones(64, device="npu")

    def work() -> list[torch.Tensor]:
        return [torch.rand(8, device="npu"), torch.randn(8, device="npu"), nn.functional.dropout(ones, 0.5)]

    torch.npu.manual_seed(7)
    eager = [work(), work()]
    after = torch.rand(4, device="npu")
    torch.npu.manual_seed(7)
    graph, out = captured(work)
    for expected in eager:
        graph.replay()
        for got, want in zip(out, expected):
            assert torch.equal(got, want)
    assert not torch.equal(eager[0][2], eager[1][2])
    assert torch.equal(torch.rand(4, device="npu"), after)
    torch.npu.manual_seed(7)
    graph.replay()
    assert torch.equal(out[2], eager[0][2])


def test_every_random_operator() -> None:
    p = torch.linspace(0.1, 0.9, 4000, device="npu")

    def work() -> dict[str, torch.Tensor]:
        f = torch.empty(4000, device="npu")
        return {
            "normal": torch.normal(p, 2.0),
            "normal_tensors": torch.normal(p, p),
            "uniform": f.clone().uniform_(2, 4),
            "exponential": f.clone().exponential_(2.0),
            "integers": torch.randint(0, 10, (4000,), device="npu"),
            "random": torch.empty(4000, dtype=torch.int32, device="npu").random_(),
            "bernoulli": torch.bernoulli(p),
            "number": f.clone().bernoulli_(0.25),
            "permutation": torch.randperm(4000, device="npu"),
            "multinomial": torch.multinomial(p, 100),
            "geometric": f.clone().geometric_(0.5),
            "half": torch.rand(4000, dtype=torch.float16, device="npu"),
        }

    graph, out = captured(work)
    torch.npu.manual_seed(5)
    graph.replay()
    first = {name: value.cpu() for name, value in out.items()}
    graph.replay()
    for name, value in out.items():
        assert not torch.equal(value.cpu(), first[name]), name
    torch.npu.manual_seed(5)
    graph.replay()
    for name, value in out.items():
        assert torch.equal(value.cpu(), first[name]), name
    assert abs(first["exponential"].mean() - 0.5) < 0.05 and first["exponential"].min() >= 0
    assert abs(first["number"].mean() - 0.25) < 0.05
    assert abs(first["bernoulli"].mean() - 0.5) < 0.05
    assert torch.equal(first["permutation"].sort().values, torch.arange(4000))
    assert abs(first["normal"].mean() - 0.5) < 0.2
    assert 2 <= first["uniform"].min() and first["uniform"].max() < 4


def test_seed_inside_a_capture() -> None:
    torch.npu.manual_seed(0)
    with pytest.raises(RuntimeError, match="can be called during stream capture only if new seed is the same"):
        captured(lambda: torch.npu.manual_seed(1))
    torch.npu.manual_seed(123)
    state = torch.npu.get_rng_state()
    first = torch.rand(8, device="npu")

    def work() -> tuple[torch.Tensor, torch.Tensor]:
        before = torch.npu.get_rng_state()
        a = torch.rand(8, device="npu")
        torch.npu.set_rng_state(before)
        return a, torch.rand(8, device="npu")

    torch.npu.set_rng_state(state)
    graph, (a, b) = captured(work)
    graph.replay()
    assert torch.equal(a, first) and torch.equal(b, first)


def test_generators_of_the_user() -> None:
    generator = torch.Generator(device="npu")
    generator.manual_seed(3)
    expected = torch.rand(8, device="npu", generator=generator)
    graph, out = captured(lambda: torch.rand(8, device="npu", generator=generator))
    generator.manual_seed(3)
    graph.replay()
    assert torch.equal(out, expected)


# ---- what cannot be captured ----
@pytest.mark.parametrize(
    "forbidden",
    [
        lambda x: x[0].item(),
        lambda x: print(x),
        lambda x: x.cpu(),
        lambda x: bool(x.sum() > 0),
        lambda x: torch.npu.synchronize(),
        lambda x: torch.npu.current_stream().synchronize(),
        lambda x: x.nonzero(),
        lambda x: torch.tensor([1.0, 2.0], device="npu"),
        lambda x: x.to("npu:0").copy_(torch.ones(4)),
    ],
)
def test_forbidden_calls_name_the_line(forbidden: Callable) -> None:
    x = torch.ones(4, device="npu")
    with pytest.raises(RuntimeError, match=r"capture.*test_graphs\.py:\d+") as error:
        captured(lambda: forbidden(x))
    line = forbidden.__code__.co_firstlineno
    assert f"test_graphs.py:{line} in <lambda>" in str(error.value)
    assert (x + 1).tolist() == [2, 2, 2, 2]  # everything goes on


def test_operators_of_the_cpu_are_named() -> None:
    x = torch.eye(2, device="npu")
    with pytest.raises(NotImplementedError, match="aten::linalg_matrix_exp.*NPU graph cannot capture.*test_graphs.py"):
        captured(lambda: torch.linalg.matrix_exp(x))


def test_a_capture_survives_a_refusal() -> None:
    x = torch.ones(4, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x + 1
        with pytest.raises(RuntimeError, match="Not permitted during NPU graph capture"):
            y.cpu()
        z = y * 2
    graph.replay()
    assert z.tolist() == [4, 4, 4, 4]


def test_misuse() -> None:
    graph = torch.npu.NPUGraph()
    with pytest.raises(RuntimeError, match="captured on a non-default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match=r"capture_end\(\) called before capture_begin"):
        graph.capture_end()
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        graph.capture_begin(capture_error_mode="none")
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.pool()
    with torch.npu.stream(torch.npu.Stream()):
        graph.capture_begin()
        with pytest.raises(RuntimeError, match="already owns"):
            graph.capture_begin()
        with torch.npu.stream(torch.npu.Stream()), pytest.raises(RuntimeError, match="same stream it began on"):
            graph.capture_end()
        graph.capture_end()
    with pytest.raises(RuntimeError, match="does not support update"):
        graph.update([{}])
    side = torch.npu.Stream()
    with pytest.raises(RuntimeError, match="107025"):  # the side stream does not come back

        def leave() -> None:
            side.wait_stream(torch.npu.current_stream())
            with torch.npu.stream(side):
                torch.ones(3, device="npu").add_(1)

        captured(leave)
    assert torch.ones(2, device="npu").tolist() == [1, 1]
    unfinished = torch.npu.NPUGraph()
    with torch.npu.stream(torch.npu.Stream()):
        unfinished.capture_begin()
        torch.zeros(3, device="npu")
        del unfinished
    torch.npu.synchronize()


# ---- streams, memory ----
def test_side_streams() -> None:
    x, side = torch.ones(1000, device="npu"), torch.npu.Stream()

    def work() -> torch.Tensor:
        main = torch.npu.current_stream()
        a = x * 2
        side.wait_stream(main)
        with torch.npu.stream(side):
            b = a + 1
        c = a + 2
        main.wait_stream(side)
        b.record_stream(main)
        return b + c

    graph, out = captured(work)
    for value in (1.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert torch.equal(out.cpu(), torch.full((1000,), 4 * value + 3))


def test_pinned_memory() -> None:
    host_in, host_out = torch.zeros(64).pin_memory(), torch.zeros(64).pin_memory()

    def work() -> None:
        x = host_in.to("npu", non_blocking=True)
        host_out.copy_(x + 1, non_blocking=True)

    graph, _ = captured(work)
    for value in (3.0, 4.0):
        host_in.fill_(value)
        graph.replay()
        torch.npu.synchronize()
        assert host_out.tolist() == [value + 1] * 64


def test_memory_of_a_graph_is_its_own() -> None:
    graph, out = captured(lambda: torch.ones(1 << 18, device="npu") + 1)
    (segment,) = [s for s in torch.npu.memory_snapshot(graph.pool()) if s["allocated_size"]]
    assert segment["segment_pool_id"] == graph.pool()
    others = [torch.full((1 << 18,), 7.0, device="npu") for _ in range(20)]
    graph.replay()
    assert (out == 2).all() and all((o == 7).all() for o in others)
    reserved = torch.npu.memory_reserved()
    del out
    torch.npu.empty_cache()
    assert torch.npu.memory_snapshot(graph.pool())  # kept while the graph lives
    pool = graph.pool()
    graph.reset()
    torch.npu.synchronize()
    torch.npu.empty_cache()
    assert not torch.npu.memory_snapshot(pool)
    assert torch.npu.memory_reserved() < reserved


def test_graphs_share_a_pool() -> None:
    x = torch.ones(1 << 16, device="npu")
    pool = torch.npu.graph_pool_handle()
    first, a = captured(lambda: x + 1, pool=pool)
    second, b = captured(lambda: a * 3, pool=first.pool())
    assert first.pool() == second.pool() == pool
    first.replay()
    second.replay()
    assert (b == 6).all()
    first.reset()
    second.replay()
    assert (b == 6).all()


def test_temporaries_are_reused_within_a_capture() -> None:
    x = torch.ones(1 << 20, device="npu")

    def work() -> torch.Tensor:
        y = x
        for _ in range(20):
            y = y + 1
        return y

    graph, out = captured(work)
    total = sum(s["total_size"] for s in torch.npu.memory_snapshot(graph.pool()))
    assert total <= 5 * (4 << 20)
    graph.replay()
    assert (out == 21).all()


def test_mempool() -> None:
    torch.npu.empty_cache()
    pool = torch.npu.MemPool()
    assert pool.use_count() == 1
    with torch.npu.use_mem_pool(pool):
        assert pool.use_count() == 2
        x = torch.full((4 << 20,), 3.0, device="npu")
        inside = torch.npu.memory_reserved()
    assert pool.use_count() == 1
    y = torch.full((4 << 20,), 4.0, device="npu")
    assert [s["allocated_size"] for s in pool.snapshot()] == [16 << 20]
    assert y.data_ptr() not in range(pool.snapshot()[0]["address"], pool.snapshot()[0]["address"] + (16 << 20))
    del x, y
    torch.npu.empty_cache()
    assert len(pool.snapshot()) == 1
    del pool
    assert torch.npu.memory_reserved() <= inside - (16 << 20)


def test_mempool_options() -> None:
    pool = torch.npu.MemPool(no_split=True)
    with torch.npu.use_mem_pool(pool):
        kept = [torch.ones(100, device="npu") for _ in range(3)]
    assert len(pool.snapshot()) == 3 and len(kept) == 3


LIBRARY = r"""
#include <stddef.h>
#include <sys/types.h>
int aclrtMalloc(void **, size_t, int);
int aclrtFree(void *);
static int taken, given;
void *my_take(ssize_t size, int device, void *stream)
{
    void *p = 0;
    taken += device == 0 && stream;
    return aclrtMalloc(&p, (size_t)size, 0) ? 0 : p;
}
void my_give(void *p, ssize_t size, int device, void *stream) { given += size > 0; aclrtFree(p); }
int taken_count(void) { return taken; }
int given_count(void) { return given; }
"""


@pytest.fixture
def library(tmp_path: object) -> str:
    (tmp_path / "own.c").write_text(LIBRARY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "own.so"), str(tmp_path / "own.c")], check=True)
    return str(tmp_path / "own.so")


USE = """
import ctypes, torch, torch_npu
ctypes.CDLL(torch_npu._C._cann_open(""), ctypes.RTLD_GLOBAL)
own = torch.npu.NPUPluggableAllocator({library!r}, "my_take", "my_give")
counts = ctypes.CDLL({library!r})
"""


def test_pluggable_allocator(library: str, output: Callable[..., str]) -> None:
    code = USE + (
        "torch.npu.change_current_allocator(own)\n"
        "x = torch.zeros(10, device='npu'); y = x + 1\n"
        "print(y.sum().item(), counts.taken_count() >= 2, torch.npu.get_allocator_backend(), torch.npu.memory_allocated() > 0)\n"
        "del x, y; print(counts.given_count() >= 2, torch.npu.memory_allocated())\n"
    )
    assert output(code.format(library=library)) == "10.0 True pluggable True\nTrue 0"


def test_pluggable_allocator_of_a_pool(library: str, output: Callable[..., str]) -> None:
    code = USE + (
        "pool = torch.npu.MemPool(own.allocator())\n"
        "a = torch.zeros(10, device='npu'); before = counts.taken_count()\n"
        "with torch.npu.use_mem_pool(pool):\n    b = torch.ones(10, device='npu')\n"
        "print(before, counts.taken_count(), b.sum().item())\n"
        "del b, pool; print(counts.given_count())\n"
        "try:\n    torch.npu.change_current_allocator(own)\n"
        'except RuntimeError as error: print("Can\'t swap an already initialized allocator" in str(error))\n'
    )
    assert output(code.format(library=library)) == "0 1 10.0\n1\nTrue"


# ---- graphed callables ----
def test_graphed_callables_train_alike() -> None:
    def train(graphed: bool) -> tuple[list[float], list[torch.Tensor]]:
        torch.manual_seed(0)
        first, second = nn.Sequential(nn.Linear(8, 16), nn.ReLU()).npu(), nn.Linear(16, 3).npu()
        if graphed:
            first, second = torch.npu.make_graphed_callables(
                (first, second), ((torch.randn(4, 8, device="npu"),), (torch.randn(4, 16, device="npu", requires_grad=True),))
            )
        step = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        losses = []
        torch.manual_seed(1)
        for _ in range(5):
            x, y = torch.randn(4, 8).npu(), torch.randint(0, 3, (4,)).npu()
            step.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(second(first(x)), y)
            loss.backward()
            step.step()
            losses.append(loss.item())
        second.eval()
        assert second(torch.ones(2, 16, device="npu")).shape == (2, 3)  # as before in the other mode
        return losses, [p.detach().cpu() for p in first.parameters()]

    (eager, weights), (replayed, others) = train(False), train(True)
    assert eager == replayed
    assert all(torch.equal(a, b) for a, b in zip(weights, others))


def test_graphed_callables_refuse() -> None:
    net = nn.Linear(2, 2).npu()
    with pytest.raises(RuntimeError, match="must contain only Tensors"):
        torch.npu.make_graphed_callables(net, (1,))
    handle = net.register_forward_hook(lambda *a: None)
    with pytest.raises(RuntimeError, match="must not have hooks"):
        torch.npu.make_graphed_callables(net, (torch.ones(2, 2, device="npu"),))
    handle.remove()
    with torch.autocast("npu"), pytest.raises(RuntimeError, match="cache_enabled=False"):
        torch.npu.make_graphed_callables(net, (torch.ones(2, 2, device="npu"),))


# ---- task groups, external events, updates ----
def test_task_groups() -> None:
    a, b, out = torch.ones(4, device="npu"), torch.full((4,), 10.0, device="npu"), torch.zeros(4, device="npu")
    event, stream = torch.npu.ExternalEvent(), torch.npu.Stream()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        current = torch.npu.current_stream()
        event.wait(current)
        event.reset(current)
        torch.npu.graph_task_group_begin(current)
        torch.add(a, b, out=out)
        handle = torch.npu.graph_task_group_end(current)
        result = out * 2
    for alpha in (1, 2, 3):
        graph.replay()  # waits for the update
        with torch.npu.stream(stream):
            torch.npu.graph_task_update_begin(stream, handle)
            torch.add(a, b, alpha=alpha, out=out)
            torch.npu.graph_task_update_end(stream)
            event.record(stream)
        assert result.tolist() == [2 * (1 + 10 * alpha)] * 4
    with pytest.raises(RuntimeError, match="107029"):
        torch.npu.graph_task_group_begin(stream)


def test_update_of_operators_with_handlers() -> None:
    @torch.npu.register_npu_graph_handler("add.out")
    class Handler(torch.npu.NpuGraphOpHandler):
        UPDATE_SPECS = {"add.out": [("arg", 0, "first")]}

    a, b, out = torch.ones(4, device="npu"), torch.full((4,), 10.0, device="npu"), torch.zeros(4, device="npu")
    graph, result = captured(lambda: torch.add(a, b, alpha=2, out=out) * 2, auto_dispatch_capture=True)
    other = torch.full((4,), 100.0, device="npu")
    graph.update([{"alpha": 3}])
    graph.replay()
    assert result.tolist() == [62] * 4
    graph.update([{"first": other}])
    graph.replay()
    assert result.tolist() == [260] * 4
    with pytest.raises(RuntimeError, match="operators that need to be updated"):
        graph.update([{}, {}])
    with pytest.raises(TypeError):
        torch.npu.register_npu_graph_handler("add.out")(int)


# ---- the rest ----
def test_debug_dump(tmp_path: object) -> None:
    graph, _ = captured(lambda: torch.ones(4, device="npu") + 1)
    graph.debug_dump(str(tmp_path / "graph.json"))
    names = [event["name"] for event in json.loads((tmp_path / "graph.json").read_text())]
    assert any("aclnnAdds" in name or "aclnnAdd" in name for name in names), names


def test_accelerator_graph() -> None:
    if not hasattr(torch.accelerator, "Graph"):
        pytest.skip("this PyTorch has no torch.accelerator.Graph")
    x, stream = torch.zeros(100, device="npu"), torch.Stream("npu")
    torch.npu.synchronize()
    graph = torch.accelerator.Graph()
    with stream, graph:
        x += 1
    graph.replay()
    graph.replay()
    torch.accelerator.synchronize()
    assert (x == 2).all()


def test_transfer_maps_cuda_graphs(output: Callable[..., str]) -> None:
    code = """
import warnings; warnings.simplefilter("ignore")
import torch
from torch_npu.contrib import transfer_to_npu
x = torch.zeros(4, device="cuda")
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    y = x + 1
x.fill_(4); g.replay()
print(y.tolist(), type(g).__name__, torch.cuda.is_current_stream_capturing())
"""
    assert output(code) == "[5.0, 5.0, 5.0, 5.0] NPUGraph False"


def test_names() -> None:
    for name in ("NPUGraph", "graph", "make_graphed_callables", "graph_pool_handle", "is_current_stream_capturing"):
        assert getattr(torch_npu.npu, name) is getattr(torch_npu.npu.graphs, name)
    torch.npu.super_kernel_scope_begin("part")
    torch.npu.super_kernel_scope_end("part")
    with pytest.raises(RuntimeError, match="scope_name should be None"):
        torch.npu.super_kernel_scope_begin(" ")

# SPDX-License-Identifier: BSD-3-Clause
"""A trace as PyTorch's own list of events, for key_averages() and stacks."""

from typing import TYPE_CHECKING

import numpy as np
from torch.autograd.profiler_util import EventList, FunctionEvent
from torch.profiler import DeviceType

if TYPE_CHECKING:
    from anynpu.trace import Profile


def _shapes(text: str) -> list[list[int]]:
    return [[int(d) for d in part.split(",") if d] for part in text.split(";")] if text else []


def event_list(p: "Profile", with_flops: bool, profile_memory: bool) -> EventList:
    """The operators of the host with the kernels that they launched, and the kernels themselves."""
    first = int(min([*p.host["begin"][:1], *p.tasks["launch"][:1]], default=0))
    made: list[FunctionEvent] = []
    of_row: dict[int, FunctionEvent] = {}
    memory = p.trace.memory[p.trace.memory["memory_kind"] == 0]
    for index, _, _, _ in p.operators():
        h = p.host[index]
        begin, end = int(h["begin"]), int(h["end"])
        low, high = np.searchsorted(memory["time"], (begin, end))
        inside = memory[low:high]
        change = int(inside["change"][inside["thread"] == h["thread"]].sum()) if profile_memory else 0
        stack = p.trace.text(h["stack"])
        event = FunctionEvent(
            id=int(h["correlation"]), name=p.trace.text(h["name"]), thread=int(h["framework_thread"]),
            fwd_thread=int(h["forward_thread"]), start_us=(begin - first) / 1000, end_us=(end - first) / 1000,
            input_shapes=_shapes(p.trace.text(h["shapes"])), stack=stack.split(";\n") if stack else [],
            scope=int(h["scope"]), use_device="npu", device_memory_usage=change, sequence_nr=int(h["sequence"]),
            device_type=DeviceType.CPU, flops=int(h["flops"]) or None, is_user_annotation=int(h["scope"]) in (2, 3),
        )  # fmt: skip
        of_row[index] = event
        made.append(event)
    for number, (t, op) in enumerate(zip(p.tasks, p.launcher, strict=True)):
        name, took = p.names[int(t["name"])], (int(t["end"]) - int(t["begin"])) / 1000
        begin = (int(t["begin"]) - first) / 1000
        if op >= 0 and int(op) in of_row:
            of_row[int(op)].append_kernel(name, int(t["device"]), took)
        made.append(FunctionEvent(
            id=-number - 1, name=name, thread=int(t["stream"]), start_us=begin, end_us=begin + took, stack=[], use_device="npu",
            device_type=DeviceType.PrivateUse1, device_index=int(t["device"]), device_resource_id=int(t["stream"]),
        ))  # fmt: skip
    events = EventList(made, use_device="npu", profile_memory=profile_memory, with_flops=with_flops)
    events._build_tree()
    return events


def stacks(p: "Profile", path: str, metric: str) -> None:
    """Lines `outermost;…;innermost microseconds`, as flame graph programs read them."""
    spent: dict[str, float] = {}
    time = (p.tasks["end"] - p.tasks["begin"]).astype(np.int64)
    own = np.zeros(len(p.host), np.int64)
    np.add.at(own, p.launcher[p.launcher >= 0], time[p.launcher >= 0])
    for index, _, self_time, _ in p.operators():
        stack = p.trace.text(p.host["stack"][index])
        worth = int(own[index]) if metric == "self_npu_time_total" else self_time
        if not stack or worth // 1000 == 0:
            continue
        table = str.maketrans(" ;\t\n", "____")
        line = ";".join(part.translate(table) for part in reversed(stack.split(";\n")))
        spent[line] = spent.get(line, 0) + worth
    with open(path, "w") as file:
        file.writelines(f"{line} {int(worth / 1000)}\n" for line, worth in spent.items())

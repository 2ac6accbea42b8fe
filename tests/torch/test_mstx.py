# SPDX-License-Identifier: BSD-3-Clause
"""mstx: marks and ranges are in a profile, and wrong arguments warn and go on."""

import pytest
import torch
from torch_npu.npu.mstx import annotate

mstx = torch.npu.mstx


def names(profile):
    return [event.name for event in profile.events()]


def test_ranges_are_in_a_profile():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        mstx.mark("a moment")
        assert mstx.range_push("outer") == 0 and mstx.range_push("inner") == 1
        assert mstx.range_pop() == 1 and mstx.range_pop() == 0
        number = mstx.range_start("by number", stream=torch.npu.current_stream())
        torch.ones(2, device="npu")
        mstx.range_end(number)
        with annotate("a block"):
            pass
    assert {"a moment", "outer", "inner", "by number", "a block"} <= set(names(profile))


def test_decorators():
    @mstx.mstx_range("first")
    def f(x, *, y):
        return x + y

    @mstx.annotate()
    def named(x):
        return x

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        assert f(1, y=2) == 3 and f(1, y=3) == 4 and named(5) == 5
    assert names(profile).count("first") == 2 and names(profile).count("named") == 1 and named.__name__ == "named"

    @annotate("fails")
    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()


def test_domains_have_stacks_of_their_own():
    assert mstx.range_push("a", domain="one") == 0 and mstx.range_push("b", domain="two") == 0
    assert mstx.range_pop("one") == 0 and mstx.range_pop("one") == -1 and mstx.range_pop("two") == 0


def test_numbers_differ():
    first, second = mstx.range_start("x"), mstx.range_start("x")
    assert 0 < first < second
    mstx.range_end(first)
    mstx.range_end(first)
    mstx.range_end(second)


@pytest.mark.parametrize(
    "call, result, text",
    [
        (lambda: mstx.mark(""), None, "Invalid message for mstx.mark"),
        (lambda: mstx.mark("x", domain=3), None, "Invalid domain for mstx.mark"),
        (lambda: mstx.range_push(5), -1, "Invalid message for mstx.range_push"),
        (lambda: mstx.range_push("x", stream="main"), -1, "Invalid stream for mstx.range_push"),
        (lambda: mstx.range_start(None), 0, "Invalid message for mstx.range_start"),
        (lambda: mstx.range_end("1"), None, "return value from mstx.range_start"),
        (lambda: mstx.range_pop(None), -1, "Invalid domain for mstx.range_pop"),
    ],
)
def test_wrong_arguments_warn(call, result, text):
    with pytest.warns(UserWarning, match=text):
        assert call() == result

# SPDX-License-Identifier: BSD-3-Clause
"""The official names: what is there has the official signature, what is missing has a reason, docs/API.md says so."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def api():
    spec = importlib.util.spec_from_file_location("api", ROOT / "tools" / "api.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["api"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows(api):
    return api.examine()


def test_signatures_and_reasons(api, rows):
    assert api.complaints(rows) == []


def test_every_name_of_torch_npu_that_is_there_is_tested(rows):
    assert [row.name.name for row in rows if row.state == "untested" and row.name.module.startswith("torch_npu.npu")] == []


def test_page_is_current(api, rows):
    assert api.page(rows) == api.PAGE.read_text(), "python tools/api.py --write"


def test_the_144(rows):
    npu = [row for row in rows if row.name.module == "torch_npu.npu"]
    assert len(npu) == 144 and sum(row.state in ("works", "accepted") for row in npu) > 130


@pytest.mark.parametrize(
    "signature, ours, text",
    [
        ("(a, b=1)", lambda a, b=1: 0, ""),
        ("(a, b=1)", lambda a, b=1, c=2: 0, ""),
        ("(a, b=1)", lambda a, b=2: 0, "b is 2 by default, not 1"),
        ("(a, b=1)", lambda b, a: 0, "parameter a is not number 1"),
        ("(a, b=1)", lambda a: 0, "no parameter b"),
        ("(a)", lambda a, b: 0, "parameter b must be given"),
        ("(a=Constant.X)", lambda a=7: 0, ""),
        ("(*, a=16 / 1000)", lambda *, a=0.016: 0, ""),
        ("class(self, a) methods: no_such", dict, "no method no_such"),
    ],
)
def test_comparison(api, signature, ours, text):
    assert api.disagreement(api.Name("m", "n", signature), ours) == text

# SPDX-License-Identifier: BSD-3-Clause
"""Pools of ranks for the tests; see pool.py."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import pool as pools


@pytest.fixture(scope="session", autouse=True)
def _close_pools():
    yield
    pools.close_all()


@pytest.fixture(params=[1, 2, 3] + ([8] if pools.LONG else []), ids=lambda n: f"{n}-ranks")
def ranks(request: pytest.FixtureRequest) -> "pools.Pool":
    """Pools of 1, 2, 3 (and in the long suite 8) ranks."""
    return pools.shared(request.param)


@pytest.fixture
def two() -> "pools.Pool":
    return pools.shared(2)


@pytest.fixture
def three() -> "pools.Pool":
    return pools.shared(3)


@pytest.fixture
def own_pool():
    """own_pool(world, …) makes a pool for this test alone."""
    made = []

    def make(world: int, **arguments: object) -> "pools.Pool":
        made.append(pools.Pool(world, **arguments))
        return made[-1]

    yield make
    for one in made:
        one.kill()

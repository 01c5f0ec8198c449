"""After a power failure at any moment a store holds what it acknowledged, and answers rightly.

Also where its process is killed.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.attacks import killed, power
from benchmarks.attacks.base import Outcome


@pytest.fixture(scope="module")
def lives(tmp_path_factory):
    home = tmp_path_factory.mktemp("lives")
    return [power.recorded(home / method, method) for method in ("exact", "brute")]


def looked(world, lives, numbers) -> Outcome:
    outcome = Outcome("power loss")
    for number in numbers:
        steps = lives[number % 2]
        end = number // 2 * 97 % (len(steps) + 1)  # any prefix, each as often as others
        power.look(world, steps[:end], np.random.default_rng(number), outcome)
    return outcome


@pytest.mark.parametrize("turn", range(5))
def test_a_power_failure_leaves_what_was_acknowledged(tmp_path, lives, turn):
    outcome = looked(tmp_path / "world", lives, range(100 * turn, 100 * (turn + 1)))
    assert (outcome.trials, outcome.told) == (100, [])


@pytest.mark.slow
def test_more_power_failures(tmp_path, lives):
    outcome = looked(tmp_path / "world", lives, range(10_000, 12_000))
    assert (outcome.trials, outcome.told) == (2000, [])


@pytest.mark.parametrize("forgotten", [("flush", None), ("sync", "index"), ("sync", "index/parts")])
def test_a_store_that_does_not_wait_for_the_disk_is_noticed(tmp_path, lives, forgotten):
    """Else the tests above would show nothing."""
    verb, path = forgotten
    hasty = [
        [step for step in steps if step.verb != verb or path not in (None, step.path.as_posix())]
        for steps in lives
    ]
    assert looked(tmp_path / "world", hasty, range(60)).failures > 3


def test_changes_that_a_killed_process_acknowledged_are_there(tmp_path):
    outcome = Outcome("killed")
    killed.kill(tmp_path, 20, outcome)
    assert (outcome.trials, outcome.told) == (20, [])

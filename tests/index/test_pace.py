"""Threads are used where they are worth it, and answers do not depend on that."""

from __future__ import annotations

import time

import numpy as np
import pytest

import mercer
from mercer.index.pace import WORTH, Pace
from mercer.runtime import parallel


def test_all_threads_until_something_is_known():
    assert Pace().threads(1, n_jobs=3) == 3
    assert Pace().threads(1, n_jobs=None) == parallel.count(None)


@pytest.mark.parametrize(("seconds", "n", "expected"), [
    (WORTH / 10, 1, 1), (WORTH / 10, 19, 1), (WORTH / 10, 25, 2), (WORTH / 10, 1000, 5),
    (WORTH * 2.5, 1, 2), (WORTH * 2.5, 2, 5), (0.0, 1000, 1),
])  # fmt: skip
def test_each_thread_has_enough_to_do(seconds, n, expected):
    pace = Pace()
    pace.seconds = seconds
    assert pace.threads(n, n_jobs=5) == expected


def test_work_is_timed_for_one_query():
    pace = Pace()

    def work(seconds):
        until = time.thread_time() + seconds[0]
        while time.thread_time() < until:
            pass
        return len(seconds)

    assert pace.timed(work)([0.02] * 4) == 4
    assert 0.005 <= pace.seconds < 0.05
    assert pace.timed(work)([0.0] * 4) == 4
    assert pace.seconds < 0.005
    known = pace.seconds
    assert pace.timed(work)([0.02]) == 1  # asked alone: not timed
    assert pace.seconds == known


def test_quick_queries_stay_on_one_thread(monkeypatch):
    """As soon as one search has told how quick they are."""
    X = np.random.default_rng(0).dirichlet(np.ones(16), size=6000)
    index = mercer.inverted("chi2").fit(X).add(X)
    seen = []
    run = parallel._run_threads
    monkeypatch.setattr(parallel, "_run_threads", lambda *a: seen.append(len(a[1])) or run(*a))
    first = index.search(X[:8], n_jobs=2)
    assert seen == [2]
    index._pace.seconds = WORTH / 100
    again = index.search(X[:8], n_jobs=2)
    assert seen == [2]
    index._pace.seconds = WORTH
    third = index.search(X[:8], n_jobs=2)
    assert seen == [2, 2]
    for other in (again, third):
        np.testing.assert_array_equal(first.ids, other.ids)
        np.testing.assert_array_equal(first.scores, other.scores)

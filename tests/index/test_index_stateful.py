"""Any sequence of changes: the index answers as a fresh one, and as brute force."""

from __future__ import annotations

import shutil
import tempfile
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import mercer
from mercer import kernels
from mercer.index import recipe

rng = np.random.default_rng(0)
POOL = rng.dirichlet(np.full(6, 0.5), 160).astype(np.float32)
POOL[80:120] = POOL[:40]  # duplicates: ties everywhere
QUERIES = np.vstack([POOL[:3], rng.dirichlet(np.full(6, 0.5), 3).astype(np.float32)])
KERNELS = {"chi2": kernels.Chi2(), "rbf": kernels.RBF(gamma=0.25)}
GRAMS = {name: k(QUERIES, POOL, dtype=np.float64) for name, k in KERNELS.items()}


class Changes(RuleBasedStateMachine):
    """Rows of a pool are added and removed; `live` maps ids to rows in the order of the index."""

    ratio = recipe.RATIO
    opens = False

    @initialize(kernel=st.sampled_from(sorted(GRAMS)), words=st.booleans(),
                n_components=st.sampled_from([1, 4, 64]))  # fmt: skip
    def start(self, kernel, words, n_components):
        self.kernel, self.words, self.n_components = kernel, words, n_components
        self.index, self.live = self.fresh(), {}
        if self.opens:
            self.folder = tempfile.mkdtemp()
            self.waiting = mock.patch("os.fsync")  # no test pulls the plug
            self.waiting.start()
            self.index.save(self.folder)
            self.index, self.reader = mercer.open(self.folder), mercer.load(self.folder)

    def fresh(self):
        made = mercer.exact(KERNELS[self.kernel], n_landmarks=12, n_components=self.n_components)
        return made.fit(POOL[:60])

    def name(self, row):
        return f"item {row}" if self.words else int(row) * 3 + 1

    @property
    def free(self):
        taken = set(self.live.values())
        return [row for row in range(len(POOL)) if row not in taken]

    def _add(self, rows):
        names = [self.name(row) for row in rows]
        with mock.patch.object(recipe, "RATIO", self.ratio):
            self.index.add(POOL[rows], names)
        self.live |= dict(zip(names, rows, strict=True))

    # ---- changes

    @rule(data=st.data())
    @precondition(lambda self: self.free)
    def add_one(self, data):
        self._add([data.draw(st.sampled_from(self.free))])

    @rule(data=st.data())
    @precondition(lambda self: len(self.free) > 1)
    def add_many(self, data):
        self._add(data.draw(st.lists(st.sampled_from(self.free), min_size=1, unique=True)))

    @rule(seed=st.integers(0, 99), n=st.integers(20, 60))
    @precondition(lambda self: len(self.free) > 60)
    def add_a_block(self, seed, n):
        self._add(np.random.default_rng(seed).permutation(self.free)[:n].tolist())

    @rule(data=st.data())
    @precondition(lambda self: self.live)
    def remove(self, data):
        some = st.lists(st.sampled_from(sorted(self.live)), min_size=1, unique=True)
        gone = data.draw(some)
        self.index.remove(gone)
        for name in gone:
            del self.live[name]

    @rule()
    @precondition(lambda self: len(self.live) > 3)
    def replace_half(self):
        gone = list(self.live)[::2]
        rows = [self.live.pop(name) for name in gone]
        self.index.remove(gone)
        self._add(rows)

    @rule()
    def compact(self):
        self.index.compact()

    # ---- questions

    @rule(share=st.sampled_from([0.01, 0.5, 0.99]), seed=st.integers(0, 99), flags=st.booleans(),
          k=st.sampled_from([1, 3, 200]))  # fmt: skip
    def filtered(self, share, seed, flags, k):
        mask = np.random.default_rng(seed).random(len(self.live)) < share
        names = self.index.ids
        found = self.index.search(QUERIES, k, where=mask if flags else names[mask])
        self.require(found, k, [self.live[name] for name in names[mask].tolist()])

    @rule(score=st.sampled_from([-1.0, 0.3, 0.7, 0.95, 2.0]))
    def within(self, score):
        K = GRAMS[self.kernel]
        rows = np.array(list(self.live.values()), int)
        for query, found in enumerate(self.index.within(QUERIES, score)):
            values = K[query, rows]
            assert not (np.abs(values - score) < 1e-9).any()
            expected = {self.name(row) for row in rows[values >= score].tolist()}
            assert set(found.ids[0].tolist()) == expected
            assert found.ids.shape[1] == len(expected)

    @rule(n=st.sampled_from([1, 5, 30]))
    def few_candidates(self, n):
        found = self.index.search(QUERIES, 2, candidates=n)
        assert (found.evaluations <= n).all()
        rows = list(self.live.values())
        best = self.best(rows, 2)
        assert (found.scores[found.exact] >= best[found.exact] - 1e-6).all()

    # ---- answers

    def best(self, rows, k):
        found = np.full((len(QUERIES), k), -np.inf)
        found[:, : len(rows)] = -np.sort(-GRAMS[self.kernel][:, rows], axis=1)[:, :k]
        return found

    def require(self, found, k, rows):
        assert found.exact.all()
        np.testing.assert_allclose(found.scores, self.best(rows, k), rtol=2e-6, atol=1e-9)
        allowed = {self.name(row) for row in rows}
        nothing = None if self.words and self.live else -1
        for query, names in enumerate(found.ids.tolist()):
            kept = [name for name in names if name != nothing]
            assert len(set(kept)) == len(kept) == min(k, len(rows))
            assert set(kept) <= allowed
            scores = GRAMS[self.kernel][query, [self.live[name] for name in kept]]
            np.testing.assert_allclose(found.scores[query, : len(kept)], scores, rtol=2e-6)

    @invariant()
    def answers_as_brute_force_and_a_fresh_index(self):
        if not hasattr(self, "index"):
            return
        rows = list(self.live.values())
        assert len(self.index) == len(rows)
        assert sorted(self.index.ids.tolist()) == sorted(self.live)
        found = self.index.search(QUERIES, 4)
        self.require(found, 4, rows)
        if rows:
            order = [self.live[name] for name in self.index.ids.tolist()]
            fresh = self.fresh().add(POOL[order], self.index.ids).search(QUERIES, 4)
            np.testing.assert_array_equal(fresh.scores, found.scores)
            np.testing.assert_array_equal(fresh.ids, found.ids)


class ManySegments(Changes):
    """As before, but segments are never joined."""

    ratio = 0


class Durable(Changes):
    """As before, but of an index that is open, and of what others find in its folder."""

    opens = True

    @rule()
    @precondition(lambda self: self.live)
    def update_half_and_back(self):
        names, rows = list(self.live)[::2], list(self.live.values())
        others = rows[-len(names) :]
        self.index.update(POOL[others], names)
        found = self.index.search(QUERIES, 4)
        expected = self.best([*rows[1::2], *others], 4)
        np.testing.assert_allclose(found.scores, expected, rtol=2e-6, atol=1e-9)
        self.index.update(POOL[rows[::2]], names)

    @rule()
    def reopen(self):
        self.index.close()
        self.index = mercer.open(self.folder)

    @invariant()
    def readers_find_the_same(self):
        if not hasattr(self, "index"):
            return
        for reader in (mercer.load(self.folder), self.reader.reload()):
            found, expected = reader.search(QUERIES, 4), self.index.search(QUERIES, 4)
            np.testing.assert_array_equal(found.ids, expected.ids)
            np.testing.assert_array_equal(found.scores, expected.scores)

    def teardown(self):
        if hasattr(self, "index"):
            self.index.close()
            self.waiting.stop()
            shutil.rmtree(self.folder)


SETTINGS = settings(
    max_examples=15, stateful_step_count=15, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore::mercer.EmptyIndexWarning")
TestChanges = Changes.TestCase
TestManySegments = ManySegments.TestCase
TestDurable = Durable.TestCase
TestChanges.settings = TestManySegments.settings = SETTINGS
TestDurable.settings = settings(SETTINGS, max_examples=8, stateful_step_count=12)

"""The public checks catch embeddings, searchers and indexes that break their promises."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from zoo import BITS, HISTOGRAMS, VECTORS

import mercer
from mercer import Index, kernels
from mercer.embeddings import KernelPCA
from mercer.errors import CheckError, InputError
from mercer.search import BoundScan, Candidates, Searcher
from mercer.search.bounds import VectorRows
from mercer.testing import check_embedding, check_index, check_searcher

Z = KernelPCA("rbf", 12, n_landmarks=40, residual=True).fit_transform(VECTORS)


def broken(cls, *args, **changes):
    """Return an object of a class with some of its methods or facts replaced."""
    return type("Broken", (cls,), changes)(*args)


# ---- embeddings


def transform(change):
    """Return a `transform` whose vectors are changed."""

    def changed(self, X, **kwargs):
        return change(KernelPCA.transform(self, X, **kwargs))

    return changed


def pca(**changes):
    """Return an embedding with residuals that breaks a promise."""
    made = broken(KernelPCA, "rbf", 6, **changes)
    return made.set_params(residual=True, n_landmarks=20)


def unseeded(self, X, y=None):
    KernelPCA.fit(self, X, y)
    self.weights_ = self.weights_ * np.random.default_rng().choice([1.0, -1.0])
    self.weights_[0] *= np.random.default_rng().random()
    return self


def forgets_its_name(self, X, y=None):
    self.secret = 1
    return KernelPCA.fit(self, X, y)


def changes_parameters(self, X, y=None):
    self.n_components = 3
    return KernelPCA.fit(self, X, y)


def spoils(self, X, y=None):
    KernelPCA.fit(self, X, y)
    X[0, 0] = 5
    return self


def centres_by_block(vectors):
    return vectors - vectors.mean(axis=0)


def short_residuals(vectors):
    vectors[:, -1] *= 0.9
    return vectors


def nearly_right_residuals(self, vectors, own, first_row, error):
    return np.sqrt(np.maximum(own - (vectors**2).sum(axis=1), 0))


def accepts_nan(self, X, **kwargs):
    X = np.nan_to_num(X) if isinstance(X, np.ndarray) else X
    return KernelPCA.transform(self, X, **kwargs)


def without_fit(self, X, **kwargs):
    return np.zeros((len(X), 2), np.float32)


def one_thread_differs(self, X, n_jobs=None, show_progress=None):
    vectors = KernelPCA.transform(self, X)
    return vectors + np.float32(1e-7) if n_jobs == 1 else vectors


@pytest.mark.parametrize("embedding, text", [
    (pca(upper_bound="yes"), "`upper_bound` is 'yes'"),
    (pca(transform=without_fit), "accepts `transform` before `fit`; NotFittedError"),
    (pca(fit=lambda self, X, y=None: KernelPCA.fit(self, X) and None), "does not return self"),
    (pca(fit=changes_parameters), "`fit` changed the parameters"),
    (pca(fit=forgets_its_name), r"`fit` learned \['secret'\]; learned names end in _"),
    (pca(transform=transform(lambda V: V.astype(np.float64))), "of float64, not float32"),
    (pca(transform=transform(lambda V: V[:-1])), r"shape \(69, 7\)"),
    (pca(transform=transform(np.asfortranarray)), "not C-contiguous"),
    (pca(transform=transform(lambda V: V / 0 * 0 if len(V) else V)), "not finite"),
    (pca(transform=transform(centres_by_block)), "block by block: the vector of item"),
    (pca(transform=one_thread_differs), "one and two threads"),
    (pca(fit=unseeded), "it gives other vectors"),
    (pca(fit=spoils), "the items were changed|other vectors"),
    (pca(transform=accepts_nan), "accepts NaN in `transform`"),
    (pca(transform=transform(short_residuals)), "below the kernel's"),
    (pca(_residuals=nearly_right_residuals), "below the kernel's"),
    (pca(serves=lambda self, kernel: False), "serves no kernel"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_broken_embeddings_are_caught(embedding, text):
    with pytest.raises(CheckError, match=text):
        check_embedding(embedding, VECTORS.copy())


def test_an_embedding_is_left_as_it_was():
    made = KernelPCA("rbf", 4)
    lines = check_embedding(made, VECTORS)
    assert not [name for name in vars(made) if name.endswith("_")]
    assert "vectors are float32, one row an item, C-contiguous and finite" in lines
    check_embedding(KernelPCA("tanimoto", 4, residual=True), BITS)


# ---- searchers


def candidates(change):
    """Return `candidates` whose rows and values are changed."""

    def changed(self, rows, Zq, n, allowed=None, effort=None):
        found = BoundScan.candidates(self, rows, Zq, n, allowed)
        rows, values = change(found.rows.copy(), found.values.copy())
        return Candidates(rows, values)

    return changed


def scan(**changes):
    return broken(BoundScan, **changes)


def ignores_the_mask(self, rows, Zq, n, allowed=None, effort=None):
    return BoundScan.candidates(self, rows, Zq, n)


def misses_the_best(self, rows, Zq, n, allowed=None, effort=None):
    found = BoundScan.candidates(self, rows, Zq, n + 1, allowed)
    return Candidates(found.rows[:, 1:], found.values[:, 1:])


def reaching(change):
    def changed(self, rows, Zq, floors, allowed=None, relaxed=1.0, give_up=1.0):
        return change(self, rows, Zq, floors, allowed)

    return changed


def a_little_too_high(self, rows, Zq, floors, allowed):
    return BoundScan.reaching(self, rows, Zq, floors + np.float32(1e-3), allowed)


def a_little_too_low(self, rows, Zq, floors, allowed):
    return BoundScan.reaching(self, rows, Zq, floors - np.float32(1e-2), allowed)


def doubled(rows, values):
    return np.repeat(rows, 2, axis=1)[:, : rows.shape[1]], np.repeat(values, 2, axis=1)[
        :, : rows.shape[1]
    ]


TURNS = itertools.count()


def learns_in_secret(self, Z, n=None):
    self.scale_ = Z.max()
    return self


def changes_a_parameter(self, Z, n=None):
    self.n_head = 2
    return self


def remembers(self, Z):
    self.n_head = 1000 + next(TURNS)
    return BoundScan.build(self, Z)


def backwards(self, several, kept):
    joined = BoundScan.join(self, several, kept)
    return type(joined)(joined.vectors[::-1])


def never_relaxed(self, rows, Zq, floors, allowed=None, relaxed=1.0, give_up=1.0):
    return BoundScan.reaching(self, rows, Zq, floors, allowed, 1.0, give_up)


def gives_up_in_secret(self, rows, Zq, floors, allowed=None, relaxed=1.0, give_up=1.0):
    found = BoundScan.reaching(self, rows, Zq, floors, allowed, relaxed)
    return Candidates(found.rows[:, :5], found.values[:, :5]) if give_up < 1 else found


class Plain(Searcher):
    """Vectors that are scanned, with no word of bounds."""

    rows = VectorRows

    def build(self, Z):
        return VectorRows(Z)

    def candidates(self, rows, Zq, n, allowed=None, effort=None):
        return BoundScan().candidates(rows, Zq, n, allowed)


def unbounded(**changes):
    return broken(Plain, **changes)


def moody(self, rows, Zq, n, allowed=None, effort=None):
    first = next(TURNS) % 2
    found = BoundScan().candidates(rows, Zq, n + first, allowed)
    return Candidates(found.rows[:, first:], found.values[:, first:])


@pytest.mark.parametrize("searcher, text", [
    (scan(takes_effort=1), "`takes_effort` is 1"),
    (scan(fit=lambda self, Z, n=None: None), "has no attribute|return self"),
    (scan(learned=("scale_",)), "`fit` does not set scale_"),
    (scan(fit=learns_in_secret), "sets scale_, which `learned` does not name"),
    (scan(fit=changes_a_parameter), "`fit` changes a parameter"),
    (scan(build=lambda self, Z: Z), "returns ndarray, not the type that `rows` names"),
    (scan(build=lambda self, Z: BoundScan.build(self, Z[:3])), "len is 3 for 70 vectors"),
    (scan(build=remembers), "`build` changes the searcher"),
    (scan(join=lambda self, rows, kept: rows[0]), "`join` of 36 rows gives 35"),
    (scan(join=backwards), "after `join`"),
    (scan(residuals=lambda self, rows: rows.vectors[:, 0]), "not the last components"),
    (scan(seeds=BoundScan.candidates), "values of `seeds` are not"),
    (scan(reaching=never_relaxed), "relaxed=0.5: values are not"),
    (scan(reaching=gives_up_in_secret), "rows are missing of a query not given up"),
    (scan(candidates=candidates(lambda r, v: (r.astype(np.int32), v))), "rows are int32"),
    (scan(candidates=candidates(lambda r, v: (r, v.astype(np.float64)))), "values float64"),
    (scan(candidates=candidates(lambda r, v: (r[:, ::-1], v[:, ::-1]))), "do not decrease"),
    (scan(candidates=candidates(lambda r, v: (r + 1, v))), "rows from|row that|value of row"),
    (scan(candidates=candidates(doubled)), "named twice"),
    (scan(candidates=candidates(lambda r, v: (r, np.where(r < 5, -np.inf, v)))), "not stand"),
    (scan(candidates=ignores_the_mask), "not allowed is named"),
    (scan(candidates=misses_the_best), "fewer than|larger inner product is missing"),
    (scan(candidates=candidates(lambda r, v: (r, v + np.float32(1e-4)))), "but its inner"),
    (scan(reaching=reaching(a_little_too_high)), "is missing for query"),
    (scan(reaching=reaching(a_little_too_low)), "does not reach the floor"),
    (unbounded(candidates=moody), "asked twice|single row"),
])  # fmt: skip
def test_broken_searchers_are_caught(searcher, text):
    with pytest.raises((CheckError, AttributeError), match=text):
        check_searcher(searcher, Z)


def test_searchers_without_bounds_may_miss_rows():
    check_searcher(unbounded(candidates=lambda self, rows, Zq, n, allowed=None, effort=None: (
        _halved(BoundScan.candidates(BoundScan(), rows, Zq, n, allowed)))), Z)  # fmt: skip


def _halved(found):
    kept = max(1, found.rows.shape[1] // 2)
    return Candidates(found.rows[:, :kept], found.values[:, :kept])


# ---- indexes


def search(change):
    """Return a `search` whose answer is changed."""

    def changed(self, Q, k=10, **kwargs):
        found = Index.search(self, Q, k, **kwargs)
        return type(found)(**{**vars(found), **change(found)})

    return changed


def exact(**changes):
    made = mercer.exact("chi2", n_landmarks=30, n_components=10)
    return broken(Index, made.kernel, made.embedding, made.searcher, **changes)


def second_best(found):
    return {name: np.roll(getattr(found, name), -1, axis=1)[:, :-1] for name in ("ids", "scores")}


def hidden_best(self, Q, k=10, **kwargs):
    found = Index.search(self, Q, k + 1, **kwargs)
    rest = {name: getattr(found, name)[:, 1:] for name in ("ids", "scores", "distances")}
    return type(found)(**{**vars(found), **rest})


def forgets_filters(self, Q, k=10, where=None, **kwargs):
    return Index.search(self, Q, k, **kwargs)


def forgets_removal(self, ids):
    return self


def forgets_pieces(self, X, ids=None, **kwargs):
    self._state = type(self._state)(self._state.recipe)
    return Index.add(self, X, ids, **kwargs)


def forgets_limits(self, Q, k=10, candidates=None, **kwargs):
    return Index.search(self, Q, k, **kwargs)


def within_less(self, Q, score, **kwargs):
    return [
        type(found)(**{**vars(found), "ids": found.ids[:, 1:], "scores": found.scores[:, 1:]})
        for found in Index.within(self, Q, score, **kwargs)
    ]


def answers_before_fit(self, Q, k=10, **kwargs):
    return Index.search(self, Q, k, **kwargs) if self.info()["fitted"] else None


def compacts_away(self, **kwargs):
    Index.compact(self, **kwargs)
    return self.remove(self.ids[:20])


@pytest.mark.parametrize("index, text", [
    (exact(search=search(second_best)), "ids have shape"),
    (exact(search=hidden_best), "has better items than those found"),
    (exact(search=search(lambda m: {"scores": m.scores + np.float32(1e-3)})), "not the kernel's"),
    (exact(search=search(lambda m: {"scores": m.scores[:, ::-1]})), "decrease|kernel's|minus inf"),
    (exact(search=search(lambda m: {"ids": m.ids + 5000})), "is not in the index"),
    (exact(search=search(lambda m: {"exact": ~m.exact})), "not every answer is exact"),
    (exact(search=search(lambda m: {"evaluations": m.evaluations + 70})), "evaluations of 70"),
    (exact(search=forgets_filters), "may not be found is found"),
    (exact(search=forgets_limits), "candidates=1: "),
    (exact(remove=forgets_removal), "after `remove` len is 70"),
    (exact(add=forgets_pieces), "accepts an id|in pieces|added again"),
    (exact(compact=compacts_away), "better items|other scores"),
    (exact(within=within_less), "misses items"),
    (exact(search=answers_before_fit), "accepts `search` before `fit`"),
    (exact(_fill=None, fit=lambda self, X, y=None: Index.fit(self, X).add(X)), "`fit` added 70"),
])  # fmt: skip
def test_broken_indexes_are_caught(index, text):
    with pytest.raises(CheckError, match=text):
        check_index(index, HISTOGRAMS)


def test_an_index_of_broken_bounds_is_caught():
    """Residuals that are too short promise what does not hold."""
    shortened = transform(lambda vectors: vectors * np.float32([1, 1, 1, 1, 0.05]))
    embedding = broken(KernelPCA, kernels.Chi2(), 4, transform=shortened)
    embedding.set_params(residual=True, n_landmarks=20)
    with pytest.raises((CheckError, mercer.CertificateWarning)):
        check_index(Index("chi2", embedding, BoundScan()), HISTOGRAMS)


@pytest.mark.parametrize("call, text", [
    (lambda: check_embedding(KernelPCA("rbf"), VECTORS[:2]), "check_embedding: 2 items are too"),
    (lambda: check_searcher(BoundScan(), Z[:5]), r"check_searcher: got shape \(5, 13\)"),
    (lambda: check_index(mercer.exact("chi2"), HISTOGRAMS[:7]), "check_index: 7 items are too"),
])  # fmt: skip
def test_too_few(call, text):
    with pytest.raises(InputError, match=text):
        call()


def test_a_check_leaves_the_index_as_it_was():
    made = mercer.exact("chi2").fit(HISTOGRAMS).add(HISTOGRAMS[:9])
    check_index(made, HISTOGRAMS)
    assert len(made) == 9
    assert made.embedding_.n_landmarks_ == 70

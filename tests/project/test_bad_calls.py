"""Bad calls, each with the error text a user sees: where, what was found, what to do."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse

import mercer
from mercer import Ragged, evaluate, items, kernels
from mercer.embeddings import KernelPCA
from mercer.errors import InputError, KernelError, MercerError, NotFittedError
from mercer.search import BoundScan

chi2, linear, rbf = kernels.Chi2(), kernels.Linear(), kernels.RBF(gamma=1.0)
X = np.ones((4, 3), np.float32)
NAN = X.copy()
NAN[2, 1] = np.nan
INDEX = mercer.exact(chi2).fit(X).add(X)

BAD_CALLS = {
    # items
    "NaN": (lambda: chi2(NAN), "Chi2: 1 of 4 items contain NaN (first: row 2). Remove them or use mercer.items.drop_bad."),
    "infinity": (lambda: rbf(X * [1, np.inf, 1]), "RBF: 4 of 4 items contain infinity, or a value too large for float32 (first: row 0)."),
    "too large": (lambda: linear([[1e300]]), "infinity, or a value too large for float32"),
    "negative": (lambda: chi2([[1, 2], [3, -1]]), "Chi2: 1 of 2 items contain negative values (first: row 1). This kernel compares histograms or counts"),
    "negative sparse": (lambda: chi2(scipy.sparse.csr_array([[0.0, -1.0]])), "Chi2: 1 of 1 items contain negative values (first: row 0)"),
    "one dimension": (lambda: linear([1.0, 2.0]), "Linear: got one dimension with 2 values. Pass one row per item: X[None, :] for one item"),
    "no dimension": (lambda: chi2(np.float64(3)), "Chi2: got float64, which has no rows. Pass a list or an array."),
    "masked": (lambda: linear(np.ma.array([[1.0, 2.0]], mask=[[0, 1]])), "Linear: 1 values are masked (first: row 0). Fill them, or leave the items out."),
    "sets as vectors": (lambda: chi2(Ragged(X, [0, 4])), "Chi2: got sets of vectors (Ragged). Pass one vector per item, or use a kernel of sets."),
    "three dimensions": (lambda: linear(np.ones((2, 2, 2))), "got shape (2, 2, 2). Pass one row per item: (n_items, n_features)."),
    "no rows": (lambda: linear([]), "Linear: there are no items. Pass at least one."),
    "no columns": (lambda: linear(np.ones((3, 0))), "there are no items. Pass at least one, with at least one feature."),
    "uneven rows": (lambda: linear([[1, 2], [3]]), "Linear: row 1 has 1 values but row 0 has 2. Pass rows of the same length"),
    "words as vectors": (lambda: linear([["a", "b"]]), "items are of type <U1, not numbers. Pass numbers, or use a kernel for such items"),
    "complex": (lambda: linear([[1j]]), "items are of type complex128, not numbers"),
    "one string": (lambda: kernels.from_function(lambda x, y: 1.0)("abc"), "<lambda>: got one string. Pass a list of items: [text]."),
    "a dict": (lambda: linear({"a": 1}), "got a dict, which has no rows. Pass a list or an array."),
    "None": (lambda: linear(None), "got a NoneType, which has no rows."),
    "a generator": (lambda: linear(x for x in X), "got generator, which has no length. Pass a list or an array: list(items)."),
    "another width": (lambda: chi2(X, X[:, :2]), "Chi2: X: 3 features, but Y: 2. Pass items from the same source."),
    "sparse and dense": (lambda: chi2(scipy.sparse.csr_array(X), X), "Chi2: X: sparse, but Y: dense. Make both the same"),
    "counts as bits": (lambda: kernels.Tanimoto()([[0, 1], [3, 1]]), "Tanimoto: row 1 has values other than 0 and 1. Pass booleans, 0 and 1, or bits packed by numpy.packbits; for counts use the kernel MinMax."),
    "bits of other length": (lambda: kernels.Tanimoto()(np.ones((2, 10), bool), np.ones((2, 20), bool)), "X: 2 features, but Y: 3."),
    "prepared for another": (lambda: linear(chi2.prepare(X)), "Linear: these items were prepared for Chi2(), not for Linear()."),
    # sets
    "offsets not from 0": (lambda: Ragged(X, [1, 4]), "Ragged: offsets go from 1 to 4, but there are 4 vectors. They must go from 0 to 4."),
    "offsets that fall": (lambda: Ragged(X, [0, 3, 2, 4]), "Ragged: offsets fall after set 1 (3 to 2)."),
    "offsets that are real": (lambda: Ragged(X, [0.0, 4.0]), "Ragged: offsets have shape (2,) and type float64. Pass n_sets + 1 integers"),
    "sets of other widths": (lambda: Ragged.from_list([X, X[:, :2]]), "Ragged: sets have [2, 3] features. All need the same."),
    "a set that is a vector": (lambda: Ragged.from_list([[1.0, 2.0]]), "Ragged: set 0 has shape (2,). Pass (size, n_features) each."),
    "positions": (lambda: Ragged(X, [0, 4], positions=X[:2]), "Ragged: 2 positions for 4 vectors. Pass one position per vector."),
    "values of one dimension": (lambda: Ragged([1.0], [0, 1]), "Ragged: values have 1 dimensions. Pass one row per vector"),
    "an unknown kind": (lambda: items.check(X, "pictures"), "no items are called 'pictures'. Kinds are: any, bits, sets, sparse, vectors."),
    # kernels
    "an unknown name": (lambda: kernels.get("chi_2"), "no kernel is called 'chi_2'. Did you mean 'chi2'?"),
    "a far name": (lambda: kernels.get("zzz"), "no kernel is called 'zzz'. Names are: chi2, corr, cosine"),
    "a class": (lambda: kernels.get(kernels.RBF), "a kernel is needed, got the class RBF. Call it: RBF()."),
    "a spec with other parameters": (lambda: kernels.from_spec({"name": "rbf", "gama": 1}), "from_spec: the kernel 'rbf' has no parameters gama."),
    "a spec of text": (lambda: kernels.from_spec("rbf"), "from_spec: got 'rbf'. Pass what to_spec returned."),
    "not a kernel": (lambda: kernels.get(len), "a kernel is needed, got the function len. Pass kernels.from_function(len)"),
    "gamma 0": (lambda: kernels.RBF(gamma=0), "RBF: gamma is 0. Pass a finite number above 0."),
    "gamma of text": (lambda: kernels.Laplacian(gamma="auto"), "Laplacian: gamma is 'auto'. Pass a finite number above 0."),
    "degree": (lambda: kernels.Polynomial(degree=2.5), "Polynomial: degree is 2.5. Pass an integer of at least 1."),
    "coef0": (lambda: kernels.Polynomial(coef0=-1), "Polynomial: coef0 is -1. Pass a finite number of at least 0."),
    "tversky": (lambda: kernels.Tversky(a=-0.1), "Tversky: a is -0.1. Pass a finite number of at least 0."),
    "scale": (lambda: -1 * chi2, "Scaled: factor is -1. Pass a finite number above 0."),
    "exp": (lambda: chi2.exp(0), "Exp: s is 0. Pass a finite number above 0."),
    "different items": (lambda: chi2 + kernels.Tanimoto(), "cannot join Chi2(), which takes vectors, and Tanimoto(), which takes bits."),
    "dtype": (lambda: chi2(X, dtype=np.int32), "Kernels are computed in float32 or float64."),
    "built-in name": (lambda: mercer.register("rbf", rbf), "register: 'rbf' is the name of a built-in kernel. Choose another."),
    "register a function": (lambda: mercer.register("f", len), "register: got <built-in function len>, not a kernel. Decorate the function with @mercer.kernel"),
    "unregister": (lambda: kernels.unregister("nobody"), "unregister: 'nobody' is not registered."),
    "overflow": (lambda: linear([[1e30]]), "Linear: k(X[0], Y[0]) is inf. Kernels return finite float32 numbers: scale the items down"),
    # scores and search
    "ids too large": (lambda: chi2.score(X, X, [[4]] * 4), "Chi2.score: ids contain 4, but there are 4 items. Ids are rows 0 to 3, or -1 for no item."),
    "ids too small": (lambda: chi2.score(X, X, [[-2]] * 4), "Chi2.score: ids contain -2"),
    "ids of real numbers": (lambda: chi2.score(X, X, np.ones((4, 1))), "Chi2.score: ids have shape (4, 1) and type float64. Pass integers, one row per query: (4, n)."),
    "ids of other queries": (lambda: chi2.score(X, X, [[1]]), "Chi2.score: ids have shape (1, 1)"),
    "k of 0": (lambda: evaluate.ground_truth("chi2", X, X, 0), "ground_truth: k is 0. Pass an integer of at least 1."),
    "k of text": (lambda: evaluate.ground_truth("chi2", X, X, "all"), "ground_truth: k is 'all'. Pass an integer of at least 1."),
    "no queries": (lambda: evaluate.ground_truth("chi2", X, [], 1), "ground_truth: the queries: there are no items. Pass at least one."),
    "other queries": (lambda: evaluate.ground_truth("chi2", X, X[:, :2], 1), "ground_truth: the queries: 2 features, but the items: 3."),
    "scores of other kernels": (lambda: evaluate.recall(evaluate.ground_truth("chi2", X, X, 1), evaluate.ground_truth("linear", X, X, 1)), "recall: found has scores of Chi2() but the truth those of Linear(). Pass found.ids to compare the items alone."),
    "words as ids": (lambda: evaluate.recall([["a"]] * 4, evaluate.ground_truth("chi2", X, X, 1)), "recall: found has shape (4, 1) and type <U1"),
    # embeddings and searchers
    "no components": (lambda: KernelPCA("chi2", 0), "KernelPCA: n_components is 0. Pass an integer of at least 1."),
    "landmarks of real numbers": (lambda: KernelPCA("chi2", n_landmarks=2.5), "KernelPCA: n_landmarks is 2.5. Pass an integer of at least 1."),
    "a seed below 0": (lambda: KernelPCA("chi2", seed=-1), "KernelPCA: seed is -1. Pass an integer of at least 0."),
    "an unknown way": (lambda: mercer.exact("chi2", landmarks="best"), "KernelPCA: landmarks is 'best'. Ways are: random, kmeans++, farthest."),
    "an unknown kernel": (lambda: mercer.exact("chi3"), "no kernel is called 'chi3'. Did you mean 'chi2'?"),
    "no items to fit": (lambda: KernelPCA("chi2").fit([]), "KernelPCA.fit: there are no items. Pass at least one."),
    "NaN to fit": (lambda: KernelPCA("chi2").fit(NAN), "KernelPCA.fit: 1 of 4 items contain NaN (first: row 2)."),
    "another embedding's width": (lambda: KernelPCA("chi2").fit(X).transform(X[:, :2]), "KernelPCA.transform: the items: 2 features, but the landmarks: 3."),
    "not PSD": (lambda: mercer.exact(kernels.from_function(lambda x, y: -abs(float(x[0] - y[0])), psd=True)).fit([[0.0], [1.0], [3.0]]), "the kernel is not positive semi-definite, so no certificate holds. Use mercer.brute, which is exact for any kernel, or mercer.auto."),
    "PSD not declared": (lambda: mercer.exact(kernels.from_function(lambda x, y: float(x[0] * y[0]))).fit(X), "is not declared positive semi-definite, so no certificate holds"),
    "no head": (lambda: BoundScan(n_head=-1), "BoundScan: n_head is -1. Pass an integer of at least 0."),
    # the index
    "an index of no k": (lambda: INDEX.search(X, 0), "Index.search: k is 0. Pass an integer of at least 1."),
    "no candidates": (lambda: INDEX.search(X, 1, candidates=0), "Index.search: candidates is 0. Pass an integer of at least 1."),
    "queries of another width": (lambda: INDEX.search(X[:, :2], 1), "Index.search: the queries: 2 features, but the items: 3. Pass items from the same source."),
    "queries with NaN": (lambda: INDEX.search(NAN, 1), "Index.search: 1 of 4 items contain NaN (first: row 2)."),
    "items of another width": (lambda: INDEX.add(X[:, :2]), "Index.add: the items: 2 features, but the landmarks: 3."),
    "items with NaN": (lambda: INDEX.add(NAN), "Index.add: 1 of 4 items contain NaN (first: row 2). Remove them or use mercer.items.drop_bad."),
    "too few ids": (lambda: INDEX.add(X, ids=[9]), "Index.add: 1 ids for 4 items. Pass one id per item."),
    "an id twice": (lambda: INDEX.add(X, ids=[7, 8, 9, 8]), "Index.add: id 8 stands for 2 items. Use each id once."),
    "an id that is there": (lambda: INDEX.add(X[:2], ids=[9, 2]), "Index.add: 1 ids are in the index already (first: 2). Remove them first to replace them."),
    "a negative id": (lambda: INDEX.add(X[:1], ids=[-1]), "Index.add: id -1 is negative; -1 stands for no item."),
    "an id beyond int64": (lambda: INDEX.add(X[:1], ids=np.array([2**63], np.uint64)), "Index.add: id 9223372036854775808 is too large. Ids are below 2^63."),
    "ids of two dimensions": (lambda: INDEX.add(X, ids=[[1, 2], [3, 4]]), "Index.add: ids have shape (2, 2) and type int64. Pass one integer or one string per item"),
    "ids of another type": (lambda: INDEX.add(X[:1], ids=["a"]), "Index.add: the ids are of type str but those of the index are int64. Use one type throughout."),
    "removing a stranger": (lambda: INDEX.remove([1, 77]), "Index.remove: 1 of 2 ids are not in the index (first: 77). Nothing was removed."),
    "removing twice": (lambda: INDEX.remove([1, 1]), "Index.remove: an id is given twice. Pass each once."),
    "a short mask": (lambda: INDEX.search(X, 1, where=[True]), "Index.search: the mask has shape (1,) but the index has 4 items. Pass one flag per item, in the order of index.ids, or a list of ids."),
    "words for where": (lambda: INDEX.search(X, 1, where=["a"]), "Index.search: the ids are of type str but those of the index are int64."),
    "a score that is no number": (lambda: INDEX.within(X, float("nan")), "Index.within: score is nan. Pass a finite number"),
    "no bounds": (lambda: mercer.Index("chi2", KernelPCA("chi2"), BoundScan()).within(X, 0.5), "Index.within: this method has no bounds, so it cannot tell when all items are found. Use an index made by mercer.exact or mercer.brute."),
    "too few to calibrate": (lambda: INDEX.calibrate(X, 0.95), "Index.calibrate: 4 queries cannot promise a probability of 0.95. That needs at least 19: pass more, or ask for less."),
    "certainty": (lambda: INDEX.calibrate(X, 1.0), "Index.calibrate: probability is 1.0. Pass a number between 0 and 1."),
    "no probability": (lambda: INDEX.calibrate(X, 0), "Index.calibrate: probability is 0. Pass a finite number above 0."),
    "nothing to calibrate": (lambda: mercer.exact("chi2").fit(X).calibrate(X), "Index.calibrate: needs an index made by mercer.exact, with items."),
    "other answers": (lambda: mercer.Matches.merge([INDEX.search(X, 1), INDEX.search(X[:1], 1)], 1), "Matches.merge: the answers are to other queries or kernels."),
    "n_jobs": (lambda: chi2(X, n_jobs=0), "n_jobs is 0. Pass a number of threads, -1 for all cores, or None."),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CALLS)
def test_error_text(name):
    call, text = BAD_CALLS[name]
    with pytest.raises(MercerError, match=re.escape(text)) as caught:
        call()
    message = str(caught.value)
    assert isinstance(caught.value, (InputError, KernelError))
    assert isinstance(caught.value, ValueError)
    assert "\n" not in message
    assert message.endswith((".", "?"))


def test_nothing_is_changed_by_a_failed_call():
    before = NAN.copy()
    with pytest.raises(InputError):
        chi2(NAN)
    np.testing.assert_array_equal(NAN, before)


NOT_FITTED = {
    "add": (lambda: mercer.exact("chi2").add(X), "Index.add: not fitted yet. Call index.fit(X) first."),
    "search": (lambda: mercer.exact("chi2").search(X, 1), "Index.search: not fitted yet. Call index.fit(X) first."),
    "within": (lambda: mercer.exact("chi2").within(X, 1), "Index.within: not fitted yet. Call index.fit(X) first."),
    "transform": (lambda: KernelPCA("chi2").transform(X), "KernelPCA: not fitted yet. Call KernelPCA.fit(X) first."),
    "relaxed": (lambda: INDEX.search(X, 1, relaxed=True), "Index.search: relaxed bounds are not calibrated for the current items. Call index.calibrate(Q, probability=0.95) with queries like those to come."),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_FITTED)
def test_not_fitted_text(name):
    call, text = NOT_FITTED[name]
    with pytest.raises(NotFittedError, match=re.escape(text)):
        call()
    assert INDEX.ids.tolist() == [0, 1, 2, 3]  # no bad call changed it

"""Indexes, kernels and parts go to other processes, without their caches."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from zoo import ANIMALS, HISTOGRAMS, my_chi2

import mercer
from mercer import kernels
from mercer.errors import KernelError

METHODS = {
    "exact": lambda kernel: mercer.exact(kernel, n_landmarks=40, n_components=16),
    "brute": mercer.brute,
    "klsh": lambda kernel: mercer.klsh(kernel, n_bits=24, n_landmarks=40, subset=10),
    "lists": lambda kernel: mercer.klsh(
        kernel, n_bits=24, n_landmarks=40, subset=10, codes="lists"
    ),
    "inverted": mercer.inverted,
    "graph": mercer.graph,
    "kpca_pq": lambda kernel: mercer.kpca_pq(kernel, n_bytes=4, n_landmarks=40, n_components=16),
}


@pytest.mark.parametrize("method", METHODS)
def test_indexes(method):
    index = METHODS[method]("chi2").fit(HISTOGRAMS).add(HISTOGRAMS[:50]).add(HISTOGRAMS[50:])
    before = len(pickle.dumps(index))
    expected = index.remove([3]).search(HISTOGRAMS, 4)
    again = pickle.loads(pickle.dumps(index))
    found = again.search(HISTOGRAMS, 4)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.exact, expected.exact)
    assert len(pickle.dumps(index)) < before + 100  # nothing that the search derived
    assert again.add(HISTOGRAMS[:1]).ids[-1] == 70


def test_before_fit():
    again = pickle.loads(pickle.dumps(mercer.exact("chi2", n_landmarks=9)))
    assert again == mercer.exact("chi2", n_landmarks=9)
    assert not again.is_fitted


@pytest.mark.parametrize("animal", ANIMALS, ids=lambda animal: animal.name)
def test_kernels(animal):
    values = animal.kernel(animal.X)
    try:
        data = pickle.dumps(animal.kernel)
    except KernelError as error:
        assert "Define it with def at the top of a module" in str(error)  # noqa: PT017
        return
    again = pickle.loads(data)
    np.testing.assert_array_equal(again(animal.X), values)


def test_decorated_functions_are_found_by_their_name():
    assert pickle.loads(pickle.dumps(my_chi2)) is my_chi2
    both = pickle.loads(pickle.dumps(0.5 * my_chi2 + kernels.Chi2()))
    assert both.left.kernel is my_chi2


def test_functions_without_a_name_are_refused_by_name():
    def inside(x, y):
        return float(x @ y)

    for kernel, name in (
        (kernels.from_function(lambda x, y: 1.0), "<lambda>"),
        (kernels.from_gram(lambda X, Y: X @ Y.T), "<lambda>"),
        (kernels.from_distance(inside), "inside"),
        (mercer.kernel(inside), "inside"),
    ):
        for whole in (kernel, kernel.normalized(), mercer.brute(kernel)):
            with pytest.raises(KernelError, match=f"cannot send kernel .*{name}.* another process"):
                pickle.dumps(whole)


def test_another_process(tmp_path):
    index = mercer.inverted("chi2").fit(HISTOGRAMS).add(HISTOGRAMS, [f"i{n}" for n in range(70)])
    (tmp_path / "index").write_bytes(pickle.dumps(index))
    code = f"""
import pickle, pathlib, numpy as np
index = pickle.loads(pathlib.Path({str(tmp_path / "index")!r}).read_bytes())
print(index.search(np.full((1, 24), 1 / 24), 3).ids.tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = index.search(np.full((1, 24), 1 / 24), 3).ids.tolist()
    assert done.stdout.strip() == str(expected)


def test_empty_copies():
    index = mercer.inverted("chi2").fit(HISTOGRAMS).add(HISTOGRAMS)
    lists = index.searcher_.searcher_  # in groups: these histograms differ in length
    shards = [index.empty().add(HISTOGRAMS[:30]), index.empty().add(HISTOGRAMS[30:])]
    assert [len(shard) for shard in shards] == [30, 40]
    assert len(index) == 70
    assert shards[0].embedding_ is index.embedding_
    for shard in shards:  # what they learned is the same, so candidates can be compared
        found = shard.searcher_.searcher_
        np.testing.assert_array_equal(found.centroids_, lists.centroids_)
    with pytest.raises(mercer.NotFittedError, match=r"Index\.empty: not fitted"):
        mercer.exact("chi2").empty()

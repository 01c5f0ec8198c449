"""Names of other libraries lead to kernels that rank as they say."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import mercer
from mercer import kernels
from mercer.errors import InputError
from mercer.kernels import elsewhere

H = np.random.default_rng(4).dirichlet(np.ones(6), size=40)
B = (H.mean() < H).astype(float)


def suggested(name):
    """Return the kernel that an error about a name suggests."""
    with pytest.raises(InputError) as caught:
        kernels.get(name)
    code = re.search(r"kernels\.\w+\(.*\)", str(caught.value)).group()
    return eval(code, {"kernels": kernels})


@pytest.mark.parametrize(
    "name",
    ["euclidean", "l2", "sqeuclidean", "manhattan", "cityblock", "l1", "hamming", "Jensenshannon",
     "dice"],
)  # fmt: skip
def test_suggested_kernels_rank_as_the_distance(name):
    X = B if name in ("hamming", "dice") else H
    metric = {"l2": "euclidean", "manhattan": "cityblock", "l1": "cityblock"}.get(name, name)
    K = suggested(name)(X.astype(bool) if name == "dice" else X, dtype=np.float64)
    D = cdist(X, X, metric.lower())
    for similar, far in zip(K, D, strict=True):
        assert not (np.subtract.outer(similar, similar) > 1e-7)[
            np.subtract.outer(far, far) > 1e-5
        ].any()


@pytest.mark.parametrize(
    "name, kernel",
    [("angular", kernels.Cosine()), ("cosine-distance", kernels.Cosine()),
     ("chi2 distance", kernels.ExpChi2())],
)  # fmt: skip
def test_other_suggestions(name, kernel):
    assert suggested(name) == kernel


def test_aliases_have_the_same_values():
    for name in ("dot", "inner_product", "ip", "dot_product"):
        assert kernels.get(name) == kernels.Linear()
    assert kernels.get("cos") == kernels.Cosine()
    assert kernels.get("gaussian") == kernels.RBF()
    assert kernels.get("jaccard") == kernels.Tanimoto()


def test_every_name_leads_somewhere():
    known = {*kernels.NAMES, *kernels.registry.ALIASES}
    for name in (*elsewhere.SAID, *elsewhere.OTHERS):
        assert name not in known
        said = elsewhere.said_of(name)
        for kernel in re.findall(r"kernels\.(\w+)", said):
            assert hasattr(kernels, kernel)


def test_functions_are_pointed_to_what_takes_them():
    def overlap(x, y):
        return len(set(x) & set(y))

    with pytest.raises(
        InputError, match=r"the function overlap\. .*from_function.*@mercer\.kernel"
    ):
        mercer.exact(overlap)

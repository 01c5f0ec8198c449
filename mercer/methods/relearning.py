"""Encode the items of an index anew, under a metric that has learned more."""

from mercer.errors import InputError
from mercer.index import Index
from mercer.kernels import Kernel, Prepared
from mercer.runtime.border import border


@border
def relearn(
    index: Index, kernel: Kernel, *, n_jobs: int | None = None, show_progress: bool | None = None
) -> Index:
    """Return an index of the same items under a metric that has learned more.

    `mercer.learn.ITML.partial_fit` changes G and keeps the basis. The coordinates that the index
    keeps give k(Φ, x) of every item, so items are encoded anew without computing a single kernel
    value between an item and the basis. The old index does not change, and answers until the new
    one is ready.

    Parameters
    ----------
    index : Index
        An index under a learned kernel (`mercer.kernels.Learned`), such as `mercer.learned` made.
    kernel : Kernel
        Its kernel with another factor over the same basis.
    n_jobs, show_progress
        As in `Index`.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from mercer import learn
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> y = X[:, 0] > 0
    >>> metric = learn.ITML("linear", n_basis=50).fit(X, y)
    >>> index = mercer.learned(metric.kernel_, n_bits=64).fit(X).add(X)
    >>> metric = metric.partial_fit(X[:2], learn.from_pairs(similar=[(0, 1)]))
    >>> index = mercer.relearn(index, metric.kernel_)
    >>> len(index)
    200
    """
    members = index.segments_.members
    if not all(len(segment.items) for segment in members):
        raise InputError("the index does not keep its items (keep_items=False). Build a new one.")
    if not members:
        raise InputError("the index has no items. Build it with the new kernel instead.")
    params = index.embedding.get_params(deep=False) | {"kernel": kernel}
    new = Index(kernel, type(index.embedding)(**params), index.searcher)
    there = [_prepared(segment.live_items(), kernel) for segment in members]
    new.fit(Prepared.join(there))
    for segment, P in zip(members, there, strict=True):
        new.add(P, ids=segment.live_ids, payload=segment.live_records())
    return new


def _prepared(P: Prepared, kernel: Kernel) -> Prepared:
    """Return items under a new kernel; only what depends on the metric is computed anew."""
    old, learned = P.kernel.innermost, kernel.innermost
    try:
        if old.over is None:
            raise InputError("no metric was learned")
        return kernel.prepare(learned.prepare(P.under(old)))
    except InputError:
        raise InputError(
            f"items prepared for {P.kernel!r} do not serve {kernel!r}. Pass a kernel learned over "
            "the same basis (ITML.partial_fit), or build a new index of the items."
        ) from None

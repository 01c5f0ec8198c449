"""The methods that an index chooses among if the user states an aim."""

from collections.abc import Callable
from typing import NamedTuple

from mercer.codes import Product
from mercer.embeddings import Embedding, Euclidean, KernelPCA, NoVectors
from mercer.kernels import Kernel
from mercer.search import BoundScan, Everything, Graph, Inverted, Searcher

Parts = tuple[Embedding, Searcher]


class Way(NamedTuple):
    """A method with its own defaults.

    Attributes
    ----------
    name : str
        The public function that makes such an index.
    parts : callable
        ``parts(kernel, seed)`` returns an embedding and a searcher.
    proves : bool
        Whether all answers are exact.
    any_kernel : bool
        Whether it takes kernels that are not positive semi-definite.
    growth : float
        The time of a query grows with the number of items to this power: known for the scans,
        and a rough figure for the others.
    """

    name: str
    parts: Callable[[Kernel, int], Parts]
    proves: bool
    any_kernel: bool
    growth: float


def _brute(kernel: Kernel, seed: int) -> Parts:
    return NoVectors(kernel), Everything()


def _exact(kernel: Kernel, seed: int) -> Parts:
    return KernelPCA(kernel, 128, residual=True, seed=seed), BoundScan()


def _inverted(kernel: Kernel, seed: int) -> Parts:
    return Euclidean(kernel, seed=seed), Inverted(
        Product(None, "deal", bits=4, seed=seed), seed=seed
    )


def _graph(kernel: Kernel, seed: int) -> Parts:
    return Euclidean(kernel, seed=seed), Graph()


WAYS = {
    way.name: way
    for way in (
        Way("brute", _brute, proves=True, any_kernel=True, growth=1.0),
        Way("exact", _exact, proves=True, any_kernel=False, growth=1.0),
        Way("inverted", _inverted, proves=False, any_kernel=True, growth=0.5),
        Way("graph", _graph, proves=False, any_kernel=True, growth=0.2),
    )
}


def suitable(kernel: Kernel, proof: bool) -> list[Way]:
    """Return the ways that serve a kernel; only those that prove their answers, if asked.

    Examples
    --------
    >>> from mercer import kernels
    >>> from mercer.index.ways import suitable
    >>> [way.name for way in suitable(kernels.Chi2(), proof=True)]
    ['brute', 'exact']
    """
    return [
        way for way in WAYS.values() if (kernel.psd or way.any_kernel) and (way.proves or not proof)
    ]

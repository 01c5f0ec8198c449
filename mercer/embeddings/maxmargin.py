"""Random maximum margin hashing (Bourrier et al. 2015, §3.2)."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer import kernels
from mercer.embeddings.landmark_map import LandmarkMap
from mercer.embeddings.subspace import Matrix
from mercer.kernels import Kernel
from mercer.runtime.arrays import Ids
from mercer.runtime.lazy import lazy
from mercer.runtime.params import check_count, check_number, stored

USUAL = 1024  # landmarks
MOST_STEPS = 100_000  # of one SVM; far more than 32 items need, unless C is huge and nothing splits


@stored
class MaxMarginDirections(LandmarkMap):
    """Distances of items from random hyperplanes of wide margin; their signs are the bits.

    Each bit draws some landmarks, labels half of them +1 and the others -1 at random, and trains
    a support vector machine on them (Bourrier et al. 2015, eq. 16-18). A hyperplane far from the
    items it was trained on seldom separates close neighbours.

    Parameters
    ----------
    kernel : str or Kernel
        The similarity. It need not be positive semi-definite, but margins then mean little.
    n_bits : int
        How many hyperplanes.
    n_landmarks : int, optional
        How many landmarks all hyperplanes draw from; embedding an item takes as many kernel values.
        By default 1024, or fewer where the kernel calls a Python function; see
        `mercer.embeddings.affordable`.
    n_items : int
        How many landmarks a hyperplane is trained on, at least 2; odd numbers are rounded down.
        If there are fewer landmarks, all are drawn.
    C : float
        The penalty for a landmark inside the margin. It must be large: values of a normalised
        kernel differ so little that with C = 1 nearly every landmark reaches this limit, and the
        machine becomes the difference of two means. On handwritten digits, C = 1 puts a quarter of
        its own items on the wrong side, and C = 1000 none.
    normalize : bool
        Whether the kernel is divided by √(k(x, x) k(y, y)) first. Bits depend on angles only.
    seed : int
        Chooses landmarks, draws and labels.

    Attributes
    ----------
    landmarks_ : Prepared
        The p landmarks.
    weights_ : ndarray of float64, shape (p, n_bits)
        α ε of every hyperplane's support vectors, 0 for the other landmarks.
    offsets_ : ndarray of float64, shape (n_bits,)
        Minus the intercepts: vectors are the machines' decision values.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import MaxMarginDirections
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=100)
    >>> MaxMarginDirections("chi2", n_bits=16, n_landmarks=60).fit_transform(X).shape
    (100, 16)
    """

    def __init__(
        self, kernel: str | Kernel, n_bits: int = 256, *, n_landmarks: int | None = None,
        n_items: int = 32, C: float = 1000.0, normalize: bool = True, seed: int = 0,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n_bits = n_bits
        self.n_landmarks = n_landmarks
        self.n_items = n_items
        self.C = C
        self.normalize = normalize
        self.seed = seed
        self._validate()

    def _validate(self) -> None:
        for name, least in {"n_bits": 1, "n_items": 2, "seed": 0}.items():
            check_count(name, getattr(self, name), at_least=least)
        check_count("n_landmarks", self.n_landmarks, optional=True)
        check_number("C", self.C, above=0)
        super()._validate()

    @lazy
    def compared(self) -> Kernel:
        """The kernel, normalised if `normalize` is set."""
        kernel = kernels.get(self.kernel)
        return kernel.normalized() if self.normalize else kernel

    def agreement(self, similarities: npt.ArrayLike) -> None:
        """Return None: margins depend on the data."""

    def _fit(self, X: Any) -> None:
        """Choose landmarks among items and learn the hyperplanes."""
        rng = np.random.default_rng(self.seed)
        L = self._landmarks(X, self._n_landmarks(X, USUAL), rng)
        K = self.compared(L, L[:], dtype=np.float64)
        self._learn((K + K.T) / 2, rng)
        self.landmarks_, self.n_landmarks_ = L, len(L)

    def _learn(self, K: Matrix, rng: np.random.Generator) -> None:
        """Learn one machine for each bit, on landmarks drawn without replacement."""
        p = len(K)
        half = min(self.n_items, p) // 2
        self.weights_ = np.zeros((p, self.n_bits))
        self.offsets_ = np.zeros(self.n_bits)
        if half == 0:
            return  # a single landmark cannot be split: every projection is 0
        labels = np.repeat([1, -1], half)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a machine that was stopped early is a hyperplane too
            for bit in range(self.n_bits):
                rows = rng.choice(p, 2 * half, replace=False)  # in random order: labels are too
                self.weights_[rows, bit], intercept = self._machine(K[np.ix_(rows, rows)], labels)
                self.offsets_[bit] = -intercept

    def _machine(self, K: Matrix, labels: Ids) -> tuple[Matrix, float]:
        """Return α ε of every item, and the intercept."""
        from sklearn.svm import SVC  # type: ignore[import-untyped]

        machine = SVC(kernel="precomputed", C=self.C, max_iter=MOST_STEPS).fit(K, labels)
        weights = np.zeros(len(K))
        weights[machine.support_] = machine.dual_coef_[0]
        return weights, float(machine.intercept_[0])

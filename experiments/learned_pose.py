"""Poses by the nearest pictures under a learned metric (M Fig. 3 and Table 1).

A stand-in for rendered people: pictures of twenty objects, seen from all sides (COIL-20), are
rotated, moved and scaled at random. The pose is where four joints of a frame around the object
come to lie; object and view are nuisance, as clothes are in the paper. A picture is its edges: the
gradient's size by eight directions, over cells of three sizes, 10,752 features. Pairs near in pose
are similar, far ones dissimilar; the metric is learned in the span of few pictures.
Run it with: scripts/experiment learned_pose --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.ndimage
import scipy.sparse

import mercer
from experiments import curves, report
from experiments.hashed import n_candidates
from experiments.real_data import SEED, data_folder
from mercer import evaluate, kernels, learn

SIDE, DIRECTIONS, CELLS = 64, 8, (2, 4, 8)
ANGLE, SHIFT, SCALE = 40.0, 8.0, 1.25  # degrees, pixels, factor: the most by which pictures move
FAINT = 0.05  # gradients below count as none, which keeps pictures sparse
BASIS = 200
SLACK = 1.0
BITS = (32, 64, 128, 256, 512)
EPSILONS = (0.5, 1.0, 1.5, 2.0, 3.0)
BIT, EPSILON = 512, 1.5  # held while the other is varied
KS = (1, 7, 50)
PLAIN, LEARNED = "unlearned", "learned"


@dataclass(frozen=True)
class Measurement:
    """The error of poses by one kernel, searched in one way."""

    kernel: str
    searched: str  # "scan", "bits" or "epsilon"
    bits: int
    epsilon: float
    rows: int
    constraints: int
    share: float  # of the rows that are compared
    k: int
    error: float  # mean distance of joints between a query and its k neighbours, in pixels
    p_value: float  # of a paired t-test against the unlearned scan


@dataclass(frozen=True)
class Poses:
    """Pictures as sparse features, and where their joints are, shape (n, 8), in pixels."""

    X: Any
    joints: Any

    def __getitem__(self, rows: slice) -> Poses:
        return Poses(self.X[rows], self.joints[rows])


def pictures(n: int, seed: int) -> Poses:
    """Return n pictures of random objects and views in random poses."""
    stored = np.load(data_folder() / "tables" / "coil20.npz")["X"].reshape(-1, 32, 32)
    rng = np.random.default_rng(seed)
    chosen = scipy.ndimage.zoom(stored, (1, SIDE / 32, SIDE / 32), order=1)
    features, joints = [], np.empty((n, 8))
    for row in range(n):
        angle, size = np.radians(rng.uniform(-ANGLE, ANGLE)), SCALE ** rng.uniform(-1, 1)
        turn = size * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        shift = rng.uniform(-SHIFT, SHIFT, 2)
        picture = chosen[rng.integers(len(chosen))]
        middle, back = np.full(2, (SIDE - 1) / 2), np.linalg.inv(turn)
        moved = scipy.ndimage.affine_transform(
            picture, back, middle - back @ (middle + shift), order=1
        )
        features.append(edges(moved))
        frame = SIDE / 4 * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
        joints[row] = (frame @ turn.T + shift).ravel()
    return Poses(scipy.sparse.csr_array(scipy.sparse.vstack(features)), joints)


def edges(picture: Any) -> Any:
    """Return gradients by direction, summed over cells of three sizes: one sparse row."""
    down, right = np.gradient(picture)
    size = np.hypot(down, right)
    size[size < FAINT] = 0
    place = (np.arctan2(down, right) / (2 * np.pi) * DIRECTIONS).astype(int) % DIRECTIONS
    planes = np.where(place == np.arange(DIRECTIONS)[:, None, None], size, 0)
    parts = []
    for cell in CELLS:
        n = SIDE // cell
        sums = planes.reshape(DIRECTIONS, n, cell, n, cell).sum(axis=(2, 4)).ravel()
        parts.append(sums / max(np.linalg.norm(sums), 1e-12))
    return scipy.sparse.csr_array(np.concatenate(parts)[None].astype(np.float32))


def errors(ids: Any, base: Poses, asked: Poses) -> Any:
    """Return the mean distance of joints between each query and its neighbours."""
    apart = (base.joints[ids] - asked.joints[:, None]).reshape(*ids.shape, 4, 2)
    return np.linalg.norm(apart, axis=-1).mean(axis=(1, 2))


def learned(base: Poses, n_near: int, slack: float) -> tuple[kernels.Kernel, int]:
    """Return the normalised kernel of a metric learned from nearness in pose."""
    pairs = learn.from_nearness(base.joints, n_near, n_near, seed=SEED)
    metric = learn.ITML("cosine", slack, n_basis=BASIS, max_iter=10, tol=0.05, seed=SEED)
    with report.quiet():
        return metric.fit(base.X, pairs).kernel_.normalized(), len(pairs)


@dataclass(frozen=True)
class Search:
    """Base, queries and two kernels of them."""

    base: Poses
    asked: Poses
    kernels: dict[str, kernels.Kernel]
    n_constraints: int
    reference: dict[int, Any]  # errors of the unlearned scan by k

    def rows(
        self, name: str, searched: str, bits: int, epsilon: float, ids: Any, share: float,
        ks: Sequence[int] = (1,),
    ) -> Iterator[Measurement]:  # fmt: skip
        """Yield what neighbours are worth, for each number of them."""
        from scipy.stats import ttest_rel

        for k in ks:
            found = errors(ids[:, :k], self.base, self.asked)
            same = np.array_equal(found, self.reference[k])
            p_value = 1.0 if same else float(ttest_rel(found, self.reference[k]).pvalue)
            yield Measurement(
                name, searched, bits, epsilon, len(self.base.joints),
                self.n_constraints if name == LEARNED else 0, share, k, float(found.mean()),
                p_value,
            )  # fmt: skip

    def hashed(self, name: str, searched: str, bits: int, epsilon: float) -> Iterator[Measurement]:
        """Yield what hashing finds, with as many candidates as epsilon says."""
        kernel, n = self.kernels[name], len(self.base.joints)
        index = mercer.learned(kernel, n_bits=bits, seed=SEED).fit(self.base.X).add(self.base.X)
        wanted = max(KS[-1] if bits == BIT and epsilon == EPSILON else 1, n_candidates(n, epsilon))
        found = index.search(self.asked.X, min(KS[-1], wanted), candidates=wanted)
        both = bits == BIT and epsilon == EPSILON
        share = float(found.evaluations.mean() / n)
        yield from self.rows(name, searched, bits, epsilon, found.ids, share, KS if both else (1,))


def measure(
    n_rows: int, n_queries: int, n_near: int, all_bits: Sequence[int], epsilons: Sequence[float]
) -> Iterator[Measurement]:
    """Yield scans first, then hashed search by bits and by epsilon."""
    drawn = pictures(n_rows + n_queries, SEED)
    base, asked = drawn[n_queries:], drawn[:n_queries]
    kernel, n_constraints = learned(base, n_near, SLACK)
    # the identity over the same basis: unlearned search takes the same way through the code
    inner = kernel.kernel
    plain = kernels.Learned(inner.kernel, inner.basis, inner.weights, np.eye(len(inner.factor)))
    both = {PLAIN: plain.normalized(), LEARNED: kernel}
    ids = {k: evaluate.ground_truth(one, base.X, asked.X, KS[-1]).ids for k, one in both.items()}
    reference = {k: errors(ids[PLAIN][:, :k], base, asked) for k in KS}
    search = Search(base, asked, both, n_constraints, reference)
    for name in both:
        yield from search.rows(name, "scan", 0, 0.0, ids[name], 1.0, KS)
        for bits in all_bits:
            yield from search.hashed(name, "bits", bits, EPSILON)
        for epsilon in epsilons:
            yield from search.hashed(name, "epsilon", BIT, epsilon)


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the error of the nearest picture against bits, and against epsilon."""
    panels = [
        _panel(rows, "bits", "bits", log=True), _panel(rows, "epsilon", "ε: more is faster", False)
    ]  # fmt: skip
    curves.draw([panels], path, f"{rows[0].rows} pictures; dotted: scans")


def _panel(rows: Sequence[Measurement], varied: str, label: str, log: bool) -> curves.Panel:
    drawn = []
    for name, colour in ((PLAIN, curves.GREY), (LEARNED, curves.BLUE)):
        line = [r for r in rows if (r.kernel, r.searched, r.k) == (name, varied, 1)]
        xs = [float(getattr(row, varied)) for row in line]
        drawn.append(curves.Curve(f"{name}, hashed", xs, [row.error for row in line], colour))
        scan = next(r.error for r in rows if (r.kernel, r.searched, r.k) == (name, "scan", 1))
        drawn.append(curves.Curve(f"{name}, scan", xs, [scan] * len(xs), colour, dashed=True))
    return curves.Panel(f"error against {varied}", label, "joints, pixels", drawn, log)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on made pictures."""
    options = report.options(__doc__, arguments)
    sizes = (300, 100, 5, BITS[:2], EPSILONS[1:3]) if options.quick else (
        20_000, 1000, 10, BITS, EPSILONS
    )  # fmt: skip
    report.publish("learned_pose", lambda: list(measure(*sizes)), draw, options.output)


if __name__ == "__main__":
    main()

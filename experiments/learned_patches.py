"""Patches of the same point of a scene, by L2 and by what was learned (M Fig. 8, K Fig. 2).

A stand-in for Photo Tourism, whose patches of one scene point come from photos of many people: here
the second patch comes from the same photo after a random warp, blur, noise and change of light, at
the warped place, size and direction with jitter added. Metrics are learned on photos of seven
classes, and asked on those of seven others. Needs opencv: pip install mercer[images].
Run it with: scripts/experiment learned_patches --output out
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from experiments import curves, report
from experiments.real_data import SEED, data_folder
from mercer import evaluate, kernels, learn

WARP, JITTER = 0.25, 0.15  # of angles (radians) and sizes
NOISE = 6.0  # grey levels
SIDE = 16  # of raw patches, in pixels
TRUE_POSITIVES = 0.95
KS = (1, 5, 10, 20, 50, 100)
SLACKS = (1e-4, 1e-3, 1e-2, 0.1)
BITS, SHARE = 256, 0.05
SIFT, RAW = "SIFT", "raw"


@dataclass(frozen=True)
class Measurement:
    """One kind of patch, one metric, one way to search."""

    features: str
    dimensions: int
    metric: str
    searched: str
    share: float
    fpr: float  # false positives when 95 % of the true pairs are found; nan where not asked
    k: int
    recall: float  # share of queries whose partner is among the first k
    slack: float


@dataclass(frozen=True)
class Patches:
    """Pairs of patches of the same points: row i of the first belongs to row i of the second."""

    first: Any
    second: Any

    def __getitem__(self, rows: slice) -> Patches:
        return Patches(self.first[rows], self.second[rows])

    def pairs(self, n: int, seed: int) -> tuple[Any, Any]:
        """Return n pairs of rows of all patches, half of them of the same point, and which."""
        rng, m = np.random.default_rng(seed), len(self.first)
        same = rng.permutation(m)[: n // 2]
        left = rng.integers(0, m, n // 2)
        right = (left + rng.integers(1, m, n // 2)) % m
        rows = np.column_stack([np.r_[same, left], m + np.r_[same, right]])
        return rows, np.repeat([True, False], [len(same), len(left)])

    @property
    def all(self) -> Any:
        """The patches of both photos, first ones first."""
        return np.concatenate([self.first, self.second])


def photos(classes: slice, per_class: int) -> list[Any]:
    """Return grey photos of some classes."""
    cv2 = _opencv()
    folders = sorted((data_folder() / "photos").iterdir())[classes]
    return [
        cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)
        for folder in folders
        for file in sorted(folder.glob("*.jpg"))[:per_class]
    ]


def _opencv() -> Any:
    try:
        import cv2
    except ImportError:
        sys.exit("patches need opencv: pip install mercer[images]")
    return cv2


def patches(pictures: Sequence[Any], per_photo: int, seed: int) -> dict[str, Patches]:
    """Return pairs of patches as SIFT descriptors and as raw grey values of mean 0 and length 1."""
    cv2, rng = _opencv(), np.random.default_rng(seed)
    found: dict[str, list[tuple[Any, Any]]] = {SIFT: [], RAW: []}
    detector = cv2.SIFT_create(per_photo)
    for picture in pictures:
        points = list(detector.detect(picture, None))
        if not points:
            continue
        turn, moved = _warped(cv2, picture, rng)
        there = [_followed(cv2, point, turn, rng) for point in points]
        near = detector.compute(picture, points)[1]
        far = detector.compute(moved, there)[1]
        if len(near) != len(points) or len(far) != len(points):
            continue  # opencv dropped a point at the border
        found[SIFT].append((near, far))
        raw = [np.stack([_raw(cv2, image, point) for point in some])
               for image, some in ((picture, points), (moved, there))]  # fmt: skip
        found[RAW].append((raw[0], raw[1]))
    return {
        name: Patches(
            *(np.concatenate(side).astype(np.float32) for side in zip(*rows, strict=True))
        )
        for name, rows in found.items()
    }


def _warped(cv2: Any, picture: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return a random similarity and what it makes of a photo, with other light and noise."""
    height, width = picture.shape
    angle, size = np.degrees(rng.uniform(-WARP, WARP)), np.exp(rng.uniform(-WARP, WARP))
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), angle, size)
    moved = cv2.warpAffine(picture, turn, (width, height), borderMode=cv2.BORDER_REFLECT)
    moved = cv2.GaussianBlur(moved, (0, 0), rng.uniform(0.3, 1.5))
    light = rng.uniform(0.7, 1.3) * moved + rng.uniform(-20, 20)
    light = light + rng.normal(0, NOISE, moved.shape)
    return turn, np.clip(light, 0, 255).astype(np.uint8)


def _followed(cv2: Any, point: Any, turn: Any, rng: np.random.Generator) -> Any:
    """Return the place, size and direction of a point after the warp, with jitter."""
    x, y = turn @ np.array([*point.pt, 1.0])
    size = np.sqrt(abs(np.linalg.det(turn[:, :2])))
    angle = np.degrees(np.arctan2(turn[0, 1], turn[0, 0]))
    grown = point.size * size * np.exp(rng.normal(0, JITTER))
    x, y = np.array([x, y]) + rng.normal(0, JITTER / 2, 2) * grown
    turned = (point.angle - angle + np.degrees(rng.normal(0, JITTER))) % 360
    return cv2.KeyPoint(float(x), float(y), float(grown), float(turned))


def _raw(cv2: Any, image: Any, point: Any) -> Any:
    """Return the grey values around a point, upright by its direction."""
    scale = SIDE / max(4 * point.size, 1.0)
    turn = cv2.getRotationMatrix2D(point.pt, point.angle, scale)
    turn[:, 2] += SIDE / 2 - np.array(point.pt)
    cut = cv2.warpAffine(image, turn, (SIDE, SIDE), borderMode=cv2.BORDER_REFLECT).ravel()
    values = cut.astype(np.float32) - cut.mean()
    return values / max(float(np.linalg.norm(values)), 1e-6)


def false_positives(distances: Any, same: Any) -> float:
    """Return the share of wrong pairs that are as near as the farthest of the 95 % nearest true."""
    limit = np.quantile(distances[same], TRUE_POSITIVES)
    return float((distances[~same] <= limit).mean())


def apart(kernel: kernels.Kernel, X: Any, pairs: Any) -> Any:
    """Return the distances of pairs of rows, for a kernel that ranks by them."""
    return -kernel.score(X[pairs[:, 0]], X, pairs[:, 1:], dtype=np.float64)[:, 0]


def learned(train: Patches, n_pairs: int) -> tuple[learn.ITML, float]:
    """Return the metric whose slack tells pairs of other points, held out, apart best."""
    half, best = len(train.first) // 2, (np.inf, None, 0.0)
    taught, asked = train[:half], train[half:]
    X, (pairs, same), (held, held_same) = (
        taught.all, taught.pairs(n_pairs, SEED), asked.pairs(n_pairs, SEED)
    )  # fmt: skip
    for slack in SLACKS:
        metric = learn.ITML(slack=slack, max_iter=20, tol=0.05, seed=SEED)
        with report.quiet():
            metric.fit(X, learn.from_pairs(pairs[same], pairs[~same]))
        kernel = kernels.Radial.for_data(metric.kernel_, X)
        rate = false_positives(apart(kernel, asked.all, held), held_same)
        if rate < best[0]:
            best = rate, metric, slack
    assert best[1] is not None
    return best[1], best[2]


def measure(
    train: dict[str, Patches], test: dict[str, Patches], n_train: int, n_test: int
) -> Iterator[Measurement]:
    """Yield L2 and learned, scanned and hashed, for both kinds of patches."""
    for name in (SIFT, RAW):
        metric, slack = learned(train[name], n_train)
        asked = test[name]
        X, (pairs, same) = asked.all, asked.pairs(n_test, SEED)
        for told, kernel in (
            ("L2", kernels.RBF.for_data(X)),
            ("learned RBF", kernels.Radial.for_data(metric.kernel_, X)),
        ):
            rate = false_positives(apart(kernel, X, pairs), same)
            for searched, ids, share in neighbours(kernel, asked):
                for k in KS:
                    right = (ids[:, :k] == np.arange(len(ids))[:, None]).any(axis=1)
                    yield Measurement(
                        name, X.shape[1], told, searched, share, rate, k, float(right.mean()),
                        slack if told != "L2" else 0.0,
                    )  # fmt: skip


def neighbours(kernel: kernels.Kernel, asked: Patches) -> Iterator[tuple[str, Any, float]]:
    """Yield the nearest second patches of every first one, by a scan and by kernelized LSH."""
    yield "scan", evaluate.ground_truth(kernel, asked.second, asked.first, max(KS)).ids, 1.0
    index = mercer.klsh(kernel, n_bits=BITS, seed=SEED).fit(asked.second).add(asked.second)
    wanted = max(max(KS), int(SHARE * len(asked.second)))
    found = index.search(asked.first, max(KS), candidates=wanted)
    yield "hashed", found.ids, float(found.evaluations.mean() / len(asked.second))


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw recall against the number of neighbours, for both kinds of patches."""
    panels = []
    for name in (SIFT, RAW):
        drawn = []
        for told, colour in (("L2", curves.GREY), ("learned RBF", curves.BLUE)):
            for searched in ("scan", "hashed"):
                line = [r for r in rows if (r.features, r.metric, r.searched)
                        == (name, told, searched)]  # fmt: skip
                drawn.append(curves.Curve(
                    f"{told}, {searched}", [row.k for row in line], [row.recall for row in line],
                    colour, searched == "scan",
                ))  # fmt: skip
        panels.append(curves.Panel(name, "neighbours", "partner found", drawn, True))
    curves.draw([panels], path, "classes asked were not learned from")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on photos of 14 classes."""
    options = report.options(__doc__, arguments)
    per_class, per_photo = (2, 30) if options.quick else (30, 60)
    n_train, n_test = (400, 1000) if options.quick else (10_000, 100_000)
    train = patches(photos(slice(0, 7), per_class), per_photo, SEED)
    test = patches(photos(slice(7, 14), per_class), per_photo, SEED + 1)
    report.publish(
        "learned_patches", lambda: list(measure(train, test, n_train, n_test)), draw,
        options.output, across=("k", "recall"),
    )  # fmt: skip


if __name__ == "__main__":
    main()

"""How much of the base a proof compares, under the pyramid match of photos.

The bounds of kernel PCA through landmarks, for pyramids that start at different sides. Run it with:
scripts/experiment pyramid_exact --output out
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mercer
from experiments import curves, report
from experiments.photos import Photos, photos, reduced
from experiments.pyramid_retrieval import BY_DATA, pyramid
from mercer import evaluate

COMPONENTS = (64, 256, 1024)
LANDMARKS = 1024
WANTED = 5
PROBABILITY = 0.95


@dataclass(frozen=True)
class Measurement:
    """Photos compared until the answer is proven, and until it is probable."""

    start: str
    finest: float
    components: int
    base: int
    queries: int
    exact: float  # queries with a proof
    share: float  # mean of the base compared
    relaxed_share: float  # the same where 95 % are enough
    relaxed_found: float  # queries whose nearest photo that finds
    median_nearest: float


def measure(
    data: Photos, starts: Sequence[str | int], components: Sequence[int], n_landmarks: int
) -> Iterator[Measurement]:
    """Yield one measurement after the other; half of the queries calibrate."""
    half = len(data.queries) // 2
    calibration, asked = data.queries[:half], data.queries[half:]
    for start in starts:
        levels = pyramid(start, data)
        kernel = levels.normalized()
        X = kernel.prepare(data.base)
        truth = evaluate.ground_truth(kernel, X, asked, WANTED)
        for E in components:
            index = mercer.exact(kernel, n_landmarks=n_landmarks, n_components=E).fit(X).add(X)
            found = index.search(asked, WANTED)
            if evaluate.recall(found, truth) < 1:
                raise SystemExit("Index.search and brute force disagree")
            index.calibrate(calibration, PROBABILITY)
            relaxed = index.search(asked, 1, relaxed=True)
            yield Measurement(
                str(start), float(levels.finest), E, len(X), len(asked), float(found.exact.mean()),
                float(found.evaluations.mean() / len(X)),
                float(relaxed.evaluations.mean() / len(X)), evaluate.recall(relaxed, truth, 1),
                float(np.median(truth.scores[:, 0])),
            )  # fmt: skip


def draw(rows: Sequence[Measurement], path: Path) -> None:
    """Draw the share compared against the number of components."""
    starts = list(dict.fromkeys(row.start for row in rows))
    palette = (curves.BLUE, curves.ORANGE, curves.GREEN, curves.PINK, curves.GREY)
    panels = []
    for name, title in (("share", "proven"), ("relaxed_share", "probable, 95 %")):
        drawn = []
        for start, colour in zip(starts, palette, strict=False):
            line = [row for row in rows if row.start == start]
            drawn.append(curves.Curve(
                start if start == BY_DATA else f"side {start}", [row.components for row in line],
                [getattr(row, name) for row in line], colour, start != BY_DATA,
            ))  # fmt: skip
        panels.append(curves.Panel(
            title, "components", "share of the base compared", drawn, True, limits=(0, 1.02)
        ))  # fmt: skip
    curves.draw([panels], path, f"{rows[0].base:,} photos, {LANDMARKS:,} landmarks")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on photos of Caltech-101."""
    options = report.options(__doc__, arguments)
    sizes, starts, components, p = (4039, 600), (BY_DATA, 16, 64), COMPONENTS, LANDMARKS
    if options.quick:
        sizes, starts, components, p = (300, 60), (BY_DATA, 32), (16, 64), 128
    data = reduced(photos(*sizes))
    report.publish(
        "pyramid_exact", lambda: list(measure(data, starts, components, p)), draw, options.output
    )


if __name__ == "__main__":
    main()

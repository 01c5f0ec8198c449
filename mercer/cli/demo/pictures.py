"""Pictures without a plotting library: PNG files, bars and curves for an HTML page."""

import struct
import zlib
from html import escape

import numpy as np

from mercer.runtime.arrays import Array


def png(image: Array) -> bytes:
    """Return a grey picture as a PNG file: 0 is white, the largest value black.

    Parameters
    ----------
    image : ndarray, shape (height, width)
        Values from 0 on.
    """
    height, width = image.shape
    grey = (255 - 255 * image / max(float(image.max()), 1e-30)).astype(np.uint8)
    lines = b"".join(b"\0" + row.tobytes() for row in grey)  # 0: no filter
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum


def bar(name: str, text: str, parts: list[tuple[str, float]], mark: float | None = None) -> str:
    """Return one line of a bar chart, its parts as shares of the whole width."""
    fills = "".join(
        f'<span class="{kind}" style="width:{100 * share:.2f}%"></span>' for kind, share in parts
    )
    if mark is not None:
        fills += f'<span class="mark" style="left:{100 * mark:.2f}%"></span>'
    return (
        f'<div class="bar"><span>{escape(name)}</span><span class="track">{fills}</span>'
        f'<span class="value">{text}</span></div>'
    )


def curve(bounds: Array, values: Array, level: float, n_reaching: int) -> str:
    """Draw bounds and scores by rank as SVG, with a level that the first bounds reach.

    Parameters
    ----------
    bounds, values : ndarray, shape (m,)
        Bounds, decreasing, and the scores of the same items.
    level : float
        Where to draw a line.
    n_reaching : int
        How many bounds reach it; behind them the ground is shaded.
    """
    m = len(values)
    low = float(values.min())
    high = float(bounds[0])
    width, height, edge = 640, 120, 6

    def place(rank: float, value: float) -> tuple[float, float]:
        across = edge + (width - 2 * edge) * rank / max(m - 1, 1)
        return across, edge + (height - 2 * edge) * (high - value) / max(high - low, 1e-12)

    points = " ".join("{:.1f},{:.1f}".format(*place(*pair)) for pair in enumerate(bounds.tolist()))
    dots = "".join(
        '<circle cx="{:.1f}" cy="{:.1f}" r="2"/>'.format(*place(rank, value))
        for rank, value in enumerate(values.tolist())
    )
    line = place(0, level)[1]
    across = place(n_reaching - 0.5, low)[0]
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="bounds and scores by rank">'
        f'<rect class="skipped" x="{across:.1f}" y="0" width="{max(width - across, 0):.1f}" '
        f'height="{height}"/><polyline points="{points}"/>{dots}'
        f'<line x1="0" x2="{width}" y1="{line:.1f}" y2="{line:.1f}"/></svg>'
    )

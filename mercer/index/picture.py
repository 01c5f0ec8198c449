"""A picture of recall and speed, drawn without a plotting library."""

import math
from html import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 110, 20, 50  # of the frame
COLOURS = ("#4477aa", "#ee6677", "#228833", "#aa8800", "#8855aa", "#2299aa")  # on white and black
TEXT = 'font-family="sans-serif" font-size="12" fill="currentColor"'

Curves = dict[str, list[list[float]]]


def picture(curves: Curves, taken: str, mark: tuple[float, float], recall: float) -> str:
    """Return curves of recall and queries per second as SVG.

    Parameters
    ----------
    curves : dict
        For each method, pairs of recall and queries per second.
    taken : str
        The method that was taken.
    mark : tuple
        Its recall and queries per second.
    recall : float
        What was to be reached: a line.
    """
    points = [*(p for line in curves.values() for p in line), list(mark)]
    frame = _Frame(min(0.9 * recall, *(r for r, _ in points)), [speed for _, speed in points])
    drawn = [frame.axes(recall)]
    for number, (name, line) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        drawn.append(_curve(frame, sorted(line), colour))
        drawn.append(_label(number, name + (" (taken)" if name == taken else ""), colour))
    x, y = frame.place(*mark)
    drawn.append(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="none" stroke="currentColor" '
        f'stroke-width="2"><title>taken</title></circle>'
    )
    title = escape(f"Recall and speed of {', '.join(curves)}; {taken} was taken.")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{title}</title>{''.join(drawn)}</svg>"
    )


class _Frame:
    """Where a recall and a speed are drawn."""

    def __init__(self, least: float, speeds: list[float]) -> None:
        self.least = least
        self.low = math.floor(math.log10(max(min(speeds), 1e-6)))
        self.high = max(math.ceil(math.log10(max(speeds))), self.low + 1)

    def place(self, recall: float, speed: float) -> tuple[float, float]:
        across = (recall - self.least) / max(1 - self.least, 1e-9)
        up = (math.log10(max(speed, 1e-6)) - self.low) / (self.high - self.low)
        return (
            LEFT + across * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM),
        )

    def axes(self, recall: float) -> str:
        left, bottom = self.place(self.least, 10.0**self.low)
        right, top = self.place(1.0, 10.0**self.high)
        lines = [_stroke(left, bottom, right, bottom), _stroke(left, bottom, left, top)]
        for power in range(self.low, self.high + 1):
            y = self.place(self.least, 10.0**power)[1]
            lines.append(_text(left - 8, y + 4, f"{10.0**power:,g}", "end"))
        for step in range(5):
            value = self.least + step * (1 - self.least) / 4
            lines.append(_text(self.place(value, 1)[0], bottom + 18, f"{value:.2f}", "middle"))
        goal = self.place(recall, 1)[0]
        lines.append(_stroke(goal, bottom, goal, top, ' stroke-dasharray="4 4"'))
        lines.append(_text((left + right) / 2, HEIGHT - 10, "recall", "middle"))
        lines.append(_text(left, TOP - 6, "queries/s", "middle"))
        return "".join(lines)


def _stroke(x1: float, y1: float, x2: float, y2: float, more: str = "") -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor"'
        f' stroke-opacity="0.6"{more}/>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {TEXT}>{escape(text)}</text>'


def _curve(frame: _Frame, line: list[list[float]], colour: str) -> str:
    places = [frame.place(*point) for point in line]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'


def _label(number: int, name: str, colour: str) -> str:
    y = TOP + 16 + 18 * number
    x = WIDTH - RIGHT + 12
    return f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{colour}"/>' + _text(x + 9, y, name, "start")

"""The demo's report: one HTML file that needs nothing else, no network and no script."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from mercer.cli.demo import pictures
from mercer.runtime.arrays import Array


@dataclass(frozen=True)
class Facts:
    """What was searched: numbers of items, queries and landmarks, and k."""

    n_items: int
    n_queries: int
    n_landmarks: int
    n_components: int
    k: int


@dataclass(frozen=True)
class Case:
    """One kernel, by brute force and by exact search; seconds are for all queries."""

    name: str
    code: str
    brute_seconds: float
    exact_seconds: float
    build_seconds: float
    evaluations: float  # mean per query, beyond the landmarks
    share: float  # of the items
    certified: float  # share of the queries
    identical: float  # share of the queries
    accuracy: float  # of the nearest item's label

    @property
    def ratio(self) -> float:
        """How many times as fast as brute force."""
        return self.brute_seconds / self.exact_seconds


@dataclass(frozen=True)
class Trial:
    """One method under one kernel; seconds are for all queries."""

    name: str
    seconds: float
    recall: float  # of the true matches
    evaluations: float  # mean per query, landmarks included
    certified: float  # share of the queries

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What a table shows of it, beside its name."""
        return (
            f"{1000 * self.seconds:.0f} ms", f"{self.recall:.1%}", f"{self.evaluations:,.0f}",
            f"{self.certified:.0%}",
        )  # fmt: skip


@dataclass(frozen=True)
class Example:
    """One query with its matches, and what its certificate rests on.

    Attributes
    ----------
    images : ndarray, shape (1 + k, 8, 8)
        The query and its matches.
    labels : sequence of int
        Theirs.
    exact : bool
        Whether the answer is certified.
    scores : ndarray, shape (k,)
        Of the matches, decreasing.
    bounds : ndarray, shape (n_items,)
        The upper bounds of all items, decreasing.
    values : ndarray, shape (m,)
        The kernel values of the first m items in that order.
    evaluations : int
        How many items were evaluated.
    """

    images: Array
    labels: Sequence[int]
    exact: bool
    scores: Array
    bounds: Array
    values: Array
    evaluations: int

    @property
    def n_reaching(self) -> int:
        """How many bounds reach the last score."""
        return int((self.bounds >= self.scores[-1]).sum())

    @property
    def next_bound(self) -> float | None:
        """The largest bound below the last score."""
        below = self.bounds[self.n_reaching :]
        return float(below[0]) if len(below) else None


def page(
    facts: Facts, cases: Sequence[Case], trials: Sequence[Trial], examples: Sequence[Example],
    code: str,
) -> str:  # fmt: skip
    """Return the whole report as HTML.

    Parameters
    ----------
    facts : Facts
        What was searched.
    cases : sequence of Case
        The kernels that were compared.
    trials : sequence of Trial
        The methods that were tried.
    examples : sequence of Example
        Queries to show.
    code : str
        The source of the kernel they were searched by.
    """
    sections = [
        _intro(facts),
        _certificate(facts),
        _table(facts, cases),
        _charts(facts, cases),
        _methods(trials),
        _examples(facts, examples, code),
    ]
    page = _text("page.html").replace("{{style}}", _text("style.css").rstrip())
    return page.replace("{{body}}", "\n".join(sections))


# ---- sections


def _intro(facts: Facts) -> str:
    return f"""<header>
<h1>Exact search under any kernel</h1>
<p class="lead">{facts.n_items:,} handwritten digits, {facts.n_queries:,} queries, and the
{facts.k} most similar items of each by several similarities. Every answer comes with a proof
that nothing better was missed.</p>
</header>"""


def _certificate(facts: Facts) -> str:
    return f"""<section>
<h2>What the certificate means</h2>
<p>Every item is projected on the span of {facts.n_landmarks:,} landmarks in the kernel’s own space;
the projection <var>z</var> and the length <var>R</var> of what it loses bound the similarity from
above:</p>
<p class="formula"><var>k</var>(<var>q</var>, <var>x</var>) ≤
<var>z</var><sub>q</sub> · <var>z</var><sub>x</sub> +
<var>R</var><sub>q</sub> <var>R</var><sub>x</sub></p>
<p>The search evaluates the kernel in the order of these bounds and stops when no bound that is
left reaches the {facts.k}-th best score it has seen, so no item it skipped can score higher.
A query counts as certified when this argument is complete, rounding errors included; it rests on
the kernel being positive semi-definite, which every evaluated pair puts to the test.</p>
</section>"""


def _table(facts: Facts, cases: Sequence[Case]) -> str:
    head = (
        "kernel", "brute force", "exact search", "speed-up", "evaluated", "share of items",
        "certified", "identical", "same digit",
    )  # fmt: skip
    slower = [case.name for case in cases if case.ratio < 1]
    return f"""<section>
<h2>Brute force against exact search</h2>
{_grid(head, [_row(case) for case in cases])}
<p class="note">Times are for all {facts.n_queries:,} queries on this machine, medians after a
first call that may compile; building an index took {_build_times(cases)}. Evaluated: kernel
values of items, the mean per query, beyond the {facts.n_landmarks:,} landmarks that every query
is compared with. Identical: the scores agree with brute force within rounding. Same digit: the
most similar item has the query’s label.{_where_slower(slower)}</p>
</section>"""


def _grid(head: Sequence[str], rows: Sequence[str]) -> str:
    cells = "".join(f'<th scope="col">{escape(word)}</th>' for word in head)
    body = "\n".join(rows)
    return f"""<div class="wide"><table>
<thead><tr>{cells}</tr></thead>
<tbody>
{body}
</tbody>
</table></div>"""


def _methods(trials: Sequence[Trial]) -> str:
    rows = [_cells(f"<code>mercer.{escape(trial.name)}</code>", trial.cells) for trial in trials]
    return f"""<section>
<h2>Every method, one kernel</h2>
{_grid(("method", "search", "recall", "kernel values", "certified"), rows)}
<p class="note">The kernel is the one written below. Methods that keep codes compare those first and
show the kernel 100 items of each query; recall is the share of the true matches among their
answers. Kernel values are those of items and landmarks, the mean per query.</p>
</section>"""


def _cells(name: str, texts: Sequence[str]) -> str:
    cells = "".join(f"<td>{text}</td>" for text in texts)
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'


def _build_times(cases: Sequence[Case]) -> str:
    times = [case.build_seconds for case in cases]
    return f"{min(times):.2f} to {max(times):.2f} s"


def _where_slower(names: Sequence[str]) -> str:
    if not names:
        return ""
    return (
        f" Brute force was faster here for {escape(', '.join(names))}: where a kernel costs no "
        "more than a few additions a feature and items are few, there is little to save. The more "
        "a kernel costs, and the more items there are, the more a skipped evaluation saves."
    )


def _row(case: Case) -> str:
    numbers = (
        f"{1000 * case.brute_seconds:.0f} ms", f"{1000 * case.exact_seconds:.0f} ms",
        f"{case.ratio:.1f} ×", f"{case.evaluations:,.0f}", f"{case.share:.2%}",
        f"{case.certified:.0%}", f"{case.identical:.0%}", f"{case.accuracy:.1%}",
    )  # fmt: skip
    return _cells(f"{escape(case.name)}<br><code>{escape(case.code)}</code>", numbers)


def _charts(facts: Facts, cases: Sequence[Case]) -> str:
    landmarks = facts.n_landmarks / facts.n_items
    longest = max(landmarks + case.share for case in cases)
    fastest = max(1.0, *(case.ratio for case in cases))
    shares = "\n".join(
        pictures.bar(case.name, f"{landmarks + case.share:.1%}",
             [("pale", landmarks / longest), ("full", case.share / longest)])
        for case in cases
    )  # fmt: skip
    ratios = "\n".join(
        pictures.bar(
            case.name, f"{case.ratio:.1f} ×", [("full", case.ratio / fastest)], 1 / fastest
        )
        for case in cases
    )
    return f"""<section class="charts">
<figure>
<figcaption><strong>Kernel values per query</strong>, as a share of what brute force needs:
<span class="key pale"></span> landmarks, <span class="key full"></span> items</figcaption>
{shares}
</figure>
<figure>
<figcaption><strong>Speed</strong>, times brute force: the line is 1</figcaption>
{ratios}
</figure>
</section>"""


def _examples(facts: Facts, examples: Sequence[Example], code: str) -> str:
    shown = "\n".join(_example(facts, example) for example in examples)
    return f"""<section>
<h2>Queries and their certificates</h2>
<p>These queries were answered by a kernel of our own. This is all that was written for it, and
it runs compiled:</p>
<pre><code>{escape(code.strip())}</code></pre>
<p>On the left the query, then its {facts.k} most similar items with their digit and score. The
curve shows the largest bounds in decreasing order and the dots the true scores of the same
items, which never lie above it. The dashed line is the {facts.k}-th best score. The shaded items
have bounds below that line, so they need no evaluation, and neither do all the items after
them.</p>
{shown}
</section>"""


def _example(facts: Facts, example: Example) -> str:
    captions = ["query", *(f"{score:.3f}" for score in example.scores)]
    pictures = "\n".join(
        _picture(*one) for one in zip(example.images, example.labels, captions, strict=True)
    )
    return f"""<article>
<div class="strip">
{pictures}
</div>
{_curve(example)}
<p class="proof">{_proof(facts, example)}</p>
</article>"""


def _picture(image: Array, label: int, caption: str) -> str:
    data = base64.b64encode(pictures.png(image)).decode()
    return (
        f'<figure><img alt="a handwritten {label}" width="64" height="64" '
        f'src="data:image/png;base64,{data}">'
        f"<figcaption>{label}<br><small>{caption}</small></figcaption></figure>"
    )


def _proof(facts: Facts, example: Example) -> str:
    n, reaching = facts.n_items, example.n_reaching
    text = (
        f"{'Certified' if example.exact else 'Not certified'}: the {facts.k}-th score is "
        f"{example.scores[-1]:.5f}. {reaching:,} of {n:,} "
        "bounds reach it, and all of these items were evaluated"
    )
    if example.next_bound is None:
        return f"{text}."
    return (
        f"{text}; the largest bound of the other {n - reaching:,} is {example.next_bound:.5f}, "
        f"below it. Evaluations: {example.evaluations:,} of {n:,} "
        f"({example.evaluations / n:.2%}), and {facts.n_landmarks:,} landmarks."
    )


def _curve(example: Example) -> str:
    bounds = example.bounds[: len(example.values)]
    return pictures.curve(bounds, example.values, float(example.scores[-1]), example.n_reaching)


def _text(name: str) -> str:
    """Return a file that stands beside this one."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")

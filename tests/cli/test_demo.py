"""The demo writes a page that needs nothing else and says what it proved."""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from mercer.cli.demo import comparison as demo
from mercer.cli.demo import report
from mercer.errors import InputError

SMALL = demo.Settings(
    n_queries=20, n_digits=80, n_landmarks=40, n_components=16, n_rounds=1, n_examples=3
)
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Collects what a page holds, and complains where tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "page.html"
    assert demo.run(path, settings=SMALL) == path
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(written):
    return Page(written)


def test_every_tag_is_closed(written, page):
    assert written.startswith("<!DOCTYPE html>")
    assert page.open == []
    assert [page.tags.count(tag) for tag in ("html", "head", "title", "body", "main", "h1")] == [
        1
    ] * 6


def test_page_needs_nothing_else(written, page):
    assert "http" not in written
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert "@import" not in written
    assert "url(" not in written
    for tag, attributes in page.attributes:
        assert "href" not in attributes
        if tag == "img":
            assert attributes["src"].startswith("data:image/png;base64,")
            assert attributes["alt"]


def test_every_kernel_is_a_row(page):
    for name in demo.compared():
        assert page.words.count(name) == 3  # in the table and in two charts
    n_methods = len(demo.tried(demo.two_scales, SMALL))
    assert page.tags.count("tr") == 2 + len(demo.compared()) + n_methods


def test_every_method_is_tried(page):
    for name in demo.tried(demo.two_scales, SMALL):
        assert f"mercer.{name}" in page.words
    found = re.findall(r"mercer\.(\w+) \d+ ms ([\d.]+)% [\d,]+ (\d+)%", page.text)
    recalls = {name: (float(recall), int(certified)) for name, recall, certified in found}
    assert recalls.pop("exact") == (100, 100)
    assert min(recall for recall, _ in recalls.values()) > 80


def test_all_answers_are_certified_and_identical(written):
    shares = re.findall(r"<td>(\d+)%</td><td>(\d+)%</td><td>[\d.]+%</td></tr>", written)
    assert shares == [("100", "100")] * len(demo.compared())


def test_certificates_hold(page):
    found = re.findall(
        r"Certified: the 8-th score is ([\d.]+). (\d+) of 720 bounds reach it, and all of these "
        r"items were evaluated; the largest bound of the other (\d+) is ([\d.]+), below it. "
        r"Evaluations: (\d+) of 720",
        page.text,
    )
    assert len(found) == SMALL.n_examples
    for score, reaching, others, bound, evaluations in found:
        assert float(bound) <= float(score)
        assert int(reaching) + int(others) == 720
        assert 8 <= int(reaching) <= int(evaluations) < 720


def test_scores_are_drawn_below_their_bounds(written):
    curves = re.findall(r'<polyline points="(.*?)"/>(.*?)<line', written)
    assert len(curves) == SMALL.n_examples
    for points, circles in curves:
        bounds = [float(point.split(",")[1]) for point in points.split()]
        values = [float(y) for y in re.findall(r'cy="([\d.]+)"', circles)]
        assert len(bounds) == len(values) >= 8
        assert bounds == sorted(bounds)
        # downwards on the screen is less
        assert all(y >= bound - 0.1 for y, bound in zip(values, bounds, strict=True))


def test_code_is_shown_as_users_write_it(page):
    assert "@mercer.kernel(psd=True, nonnegative=True)" in page.text
    assert "type:" not in page.text


def test_pictures_are_digits(page):
    image_module = pytest.importorskip("PIL.Image")
    sources = [attributes["src"] for tag, attributes in page.attributes if tag == "img"]
    assert len(sources) == SMALL.n_examples * 9
    content = base64.b64decode(sources[0].partition(",")[2])
    pixels = np.asarray(image_module.open(io.BytesIO(content)))
    assert pixels.shape == (8, 8)
    assert pixels.min() == 0
    assert pixels.max() == 255


def test_an_answer_without_proof_is_not_called_certified():
    facts = report.Facts(n_items=3, n_queries=1, n_landmarks=2, n_components=2, k=1)
    example = report.Example(
        images=np.ones((2, 8, 8)), labels=[1, 1], exact=False, scores=np.array([0.5]),
        bounds=np.array([0.9, 0.6, 0.4]), values=np.array([0.5, 0.3]), evaluations=2,
    )  # fmt: skip
    text = Page(report._example(facts, example)).text
    assert "Not certified: the 1-th score is 0.50000. 2 of 3 bounds reach it" in text
    assert "the largest bound of the other 1 is 0.40000" in text


def test_slower_kernels_are_named():
    case = report.Case("mine", "mine", 1.0, 2.0, 0.1, 5, 0.1, 1, 1, 0.9)
    facts = report.Facts(50, 1, 2, 2, 1)
    assert case.ratio == 0.5
    assert "Brute force was faster here for mine" in report.page(facts, [case], [], [], "")


def test_a_wrong_path_fails_before_the_work(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        demo.run(tmp_path / "missing" / "page.html")
    with pytest.raises(InputError, match="is a folder"):
        demo.run(tmp_path)


def test_browser_is_asked_to_open_the_page(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(demo.webbrowser, "open", opened.append)
    monkeypatch.setattr(demo, "compared", lambda: {"two scales": demo.two_scales})
    monkeypatch.chdir(tmp_path)
    path = demo.run(open_browser=True, settings=SMALL)
    assert path.name == "mercer-demo.html"
    assert opened == [(tmp_path / "mercer-demo.html").as_uri()]


def test_import_is_light():
    code = (
        "import sys, mercer.cli.demo.comparison; "
        "print([m for m in ('sklearn', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

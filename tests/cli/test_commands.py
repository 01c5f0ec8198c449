"""The command line, from files to answers, in processes of its own and in this one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest
import scipy.sparse
import terminal
from terminal import Q, X, csv, jsonl, run

import mercer
from mercer import cli, store
from mercer.cli import answers, commands

SMALL = ["--method", "exact", "--set", "n_landmarks=60", "--set", "n_components=16"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Items, queries and two indexes, which no test changes."""
    return terminal.fill(tmp_path_factory.mktemp("cli"))


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture
def build(tmp_path):
    """Build an index and load it; its files go where nobody else looks."""

    def build(name, *args, stdin=b"", settings=SMALL):
        done = run("build", name, tmp_path / "new.index", *settings, *args, stdin=stdin)
        assert (done.status, done.err) == (0, "")
        return mercer.load(tmp_path / "new.index")

    return build


# ---- methods


def test_a_method_is_chosen_unless_one_is_named(folder, tmp_path):
    X = np.random.default_rng(0).dirichlet(np.ones(16), size=2000)
    np.save(tmp_path / "many.npy", X)
    for args in ([], ["--recall", "0.9"], ["--proof"]):
        done = run(
            "build", tmp_path / "many.npy", tmp_path / "i", "--kernel", "chi2", "--replace", *args
        )
        assert (done.status, done.err) == (0, "")
        index = mercer.load(tmp_path / "i")
        assert f"method auto ({index.explain().taken})" in done.out
        assert index.aim.recall == (1.0 if "--proof" in args else 0.9 if args else 0.95)
    told = run("info", tmp_path / "i")
    assert f"{mercer.load(tmp_path / 'i').explain().taken} was taken for recall@10" in told.out


# ---- the real command


def mercer_command(*args, folder, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "mercer", *map(str, args)],
        cwd=folder, input=stdin, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_from_files_to_answers(tmp_path):
    """Every command in a process of its own; what they print agrees with brute force."""
    np.save(tmp_path / "items.npy", X[:250] * 7)  # --l1 makes them histograms again
    np.savetxt(tmp_path / "more.csv", 3 * X[250:], delimiter=",")
    queries = csv((9 * Q).tolist()).decode()  # the index knows that rows are divided
    truth = mercer.evaluate.ground_truth("chi2", X, Q, 3)

    def call(*args, stdin=None):
        done = mercer_command(*args, folder=tmp_path, stdin=stdin)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    made = call("build", "items.npy", "my.index", "--kernel", "chi2", "--l1", *SMALL)
    assert made == "my.index: 250 items, method exact, kernel Chi2().of('l1')\n"
    assert "50 items added, 300 in all" in call("add", "my.index", "more.csv")
    found = jsonl(call("search", "my.index", "-", "-k", "3", "--format", "jsonl", stdin=queries))
    np.testing.assert_allclose([one["scores"] for one in found], truth.scores, atol=1e-5)
    near = call("within", "my.index", "-", "--score", "0.8", "--format", "jsonl", stdin=queries)
    scores = mercer.kernels.get("chi2")(Q, X)
    assert [len(one["ids"]) for one in jsonl(near)] == (scores >= 0.8).sum(axis=1).tolist()
    gone = found[0]["ids"][0]
    assert "1 items removed, 299 left" in call("remove", "my.index", gone)
    again = jsonl(call("search", "my.index", "-", "-k", "2", "--format", "jsonl", stdin=queries))
    assert again[0]["ids"] == found[0]["ids"][1:]
    assert re.search(r"items +299\n", call("info", "my.index"))
    assert call("verify", "my.index").startswith("my.index: ok")


@pytest.mark.parametrize("n_lines", [0, 1])
def test_readers_may_leave_early(n_lines, folder):
    """As in ``mercer search ... | head -n 1``: no error, no traceback."""
    k = 300 if n_lines else 1  # much to print, or less than fits in the buffer
    command = [sys.executable, "-m", "mercer", "search", "a.index", "items.npy", "-k", str(k)]
    with subprocess.Popen(
        [*command, "--format", "jsonl"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        lines = [json.loads(process.stdout.readline()) for _ in range(n_lines)]
        process.stdout.close()
        errors = process.stderr.read()
    assert [line["query"] for line in lines] == list(range(n_lines))
    assert (process.returncode, errors) == (1, b"")


def test_errors_of_the_real_command_are_one_line(folder):
    done = mercer_command("search", "a.index", "nothing.npy", folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mercer: nothing.npy: No such file or directory\n"


def test_the_command_is_installed():
    (script,) = metadata.entry_points(group="console_scripts", name="mercer")
    assert script.load() is cli.main


# ---- tables


def test_tables_with_columns_of_their_own(tmp_path):
    rows = [[f"n{i}", *row, "old" if i % 2 else "new", i] for i, row in enumerate(X.tolist())]
    names = [f"f{i}" for i in range(X.shape[1])]
    lines = [["name", *names, "kind", "note"], *rows]
    (tmp_path / "t.csv").write_bytes(csv(lines).replace(b",", b";"))
    table = ["--id-column", "name", "--label-column", "kind", "--drop", "note"]
    made = run("build", tmp_path / "t.csv", tmp_path / "i", "--kernel", "chi2", *SMALL, *table)
    assert (made.status, made.err) == (0, "")
    index = mercer.load(tmp_path / "i")
    assert index.columns_ == names
    (tmp_path / "q.csv").write_bytes(csv([names, *Q.tolist()]))
    found = run("search", tmp_path / "i", tmp_path / "q.csv", "-k", "2", "--format", "csv")
    lines = [line.split(",") for line in found.out.splitlines()]
    assert lines[0] == ["query", "rank", "id", "score", "distance"]
    expected = index.search(Q, 2)
    assert [line[2] for line in lines[1:]] == expected.ids.ravel().tolist()
    np.testing.assert_array_equal(
        np.float32([line[3] for line in lines[1:]]), expected.scores.ravel()
    )
    (tmp_path / "turned.csv").write_bytes(csv([names[::-1], *Q.tolist()]))
    refused = run("search", tmp_path / "i", tmp_path / "turned.csv")
    assert (refused.status, "another order" in refused.err) == (2, True)


# ---- kernels of your own

MINE = """
import mercer

@mercer.kernel(psd=True)
def mine(x, y):
    return (x * y).sum()

mercer.register("mine", mine)
"""


def test_kernels_of_imported_modules(tmp_path):
    (tmp_path / "my_kernels.py").write_text(MINE)
    np.save(tmp_path / "items.npy", X)

    def call(*args):
        return mercer_command(*args, folder=tmp_path)

    own = ["--import", "my_kernels"]
    made = call("build", "items.npy", "i", "--kernel", "mine", *SMALL, *own)
    assert (made.returncode, made.stderr) == (0, "")
    refused = call("search", "i", "items.npy")
    assert (refused.returncode, "--import the module" in refused.stderr) == (2, True)
    found = call("search", "i", "items.npy", "-k", "1", "--format", "jsonl", *own)
    ids = [one["ids"][0] for one in jsonl(found.stdout)]
    assert ids == mercer.evaluate.ground_truth("linear", X, X, 1).ids.ravel().tolist()


def test_modules_that_cannot_be_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "failing_module.py").write_text("1 / 0")
    for name, text in {
        "failing_module": "ZeroDivisionError: division by zero",
        "no_such_module": "No module named 'no_such_module'",
        "failing_module.py": "Pass the name of the module: failing_module.",
    }.items():
        done = run("info", "a.index", "--import", name)
        assert done.status == 2
        assert f"--import {name}: cannot be imported" in done.err
        assert text in done.err


# ---- building


def test_build_takes_every_kind_of_file(build, tmp_path):
    expected = mercer.exact("chi2", n_landmarks=60, n_components=16).fit(X).add(X).search(Q, 4)
    scipy.sparse.save_npz(tmp_path / "sparse.npz", scipy.sparse.csr_array(X))
    np.savez(tmp_path / "dense.npz", other=Q, features=X)
    vecs = np.hstack([np.full((300, 1), 12, "<i4"), X.view("<i4")])
    (tmp_path / "items.fvecs").write_bytes(vecs.tobytes())
    (tmp_path / "items.fbin").write_bytes(np.array(X.shape, "<u4").tobytes() + X.tobytes())
    for name, extra in [
        ("sparse.npz", []), ("dense.npz", ["--key", "features"]), ("items.fvecs", []),
        ("items.fbin", []),
    ]:  # fmt: skip
        index = build(tmp_path / name, "--kernel", "chi2", "--replace", *extra)
        queries = scipy.sparse.csr_array(Q) if name == "sparse.npz" else Q
        found = index.search(queries, 4)
        np.testing.assert_array_equal(found.ids, expected.ids, err_msg=name)


def test_build_reads_standard_input_and_ids(build, tmp_path):
    rows = [[f"n{i}", *row] for i, row in enumerate(X[:20].tolist())]
    header = [["name", *"abcdefghijkl"]]
    index = build("-", "--kernel", "chi2", "--id-column", "name", stdin=csv(header + rows))
    assert index.ids.tolist() == [f"n{i}" for i in range(20)]
    (tmp_path / "ids.txt").write_text("".join(f"{i * i}\n" for i in range(300)))
    index = build("items.npy", "--kernel", "chi2", "--ids", tmp_path / "ids.txt", "--replace")
    assert index.ids.tolist() == [i * i for i in range(300)]


def test_build_passes_its_options_on(build):
    options = ["--param", "gamma=0.5", "--set", "landmarks=farthest", "--seed", "3"]
    index = build("items.npy", "--kernel", "gaussian", *options, "--threads", "1")
    assert index.kernel == mercer.kernels.RBF(gamma=0.5)
    params = index.embedding.get_params(deep=False)
    assert [params[name] for name in ("n_landmarks", "n_components", "landmarks", "seed")] == [
        60, 16, "farthest", 3,
    ]  # fmt: skip


def test_build_takes_every_method(build):
    settings = ["--method", "klsh", "--set", "n_bits=40", "--set", "subset=none"]
    index = build("items.npy", "--kernel", "chi2", settings=settings)
    assert index.embedding.n_bits == 40
    assert index.embedding.subset is None
    assert index.info()["bytes per code"] == 5


# ---- answers


def test_search_as_json_lines():
    done = run("search", "named.index", "queries.npy", "-k", "3", "--format", "jsonl")
    expected = mercer.load("named.index").search(Q, 3)
    assert done.status == 0
    for number, line in enumerate(jsonl(done.out)):
        assert list(line) == ["query", "ids", "scores", "distances", "exact", "evaluations"]
        assert line["query"] == number
        assert line["ids"] == expected.ids[number].tolist()
        for name in ("scores", "distances"):
            values = np.array(line[name], np.float32)
            np.testing.assert_array_equal(values, getattr(expected, name)[number])
        assert line["exact"] is True
        assert line["evaluations"] == expected.evaluations[number]


def test_search_as_a_table():
    out = run("search", "a.index", "queries.npy", "-k", "2").out
    expected = mercer.load("a.index").search(Q, 2)
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert lines[0] == ["query", "rank", "id", "score", "distance"]
    body = [line for line in lines if line[0].isdigit()]
    assert [line[:3] for line in body] == [
        [str(q), str(r + 1), str(expected.ids[q, r])] for q in range(6) for r in range(2)
    ]
    scores = [float(line[3]) for line in body]
    np.testing.assert_allclose(scores, expected.scores.ravel(), rtol=1e-5)
    mean = expected.evaluations.mean()
    text = f"exact for 6 of 6 queries; {mean:.1f} evaluations on average = {mean / 300:.2%} of 300"
    assert text in out


def test_long_tables_are_cut_and_say_so():
    out = run("search", "a.index", "items.npy", "-k", "3").out
    assert "200 of 900 matches are shown; --format jsonl writes all" in out
    assert len(out.splitlines()) < answers.SHOWN + 10


def test_search_as_arrays(tmp_path):
    path = tmp_path / "found.npz"
    done = run("search", "a.index", "queries.npy", "-k", "310", "--format", "npz", "--output", path)
    assert (done.status, done.out) == (0, "")
    expected = mercer.load("a.index").search(Q, 310)
    with np.load(path, allow_pickle=False) as found:
        for name in ("ids", "scores", "distances", "exact", "evaluations"):
            np.testing.assert_array_equal(found[name], getattr(expected, name))
        assert found["queries"].tolist() == list(range(6))
    assert (expected.ids[:, 300:] == -1).all()


def test_strings_as_arrays(tmp_path):
    path = tmp_path / "found.npz"
    run("search", "named.index", "queries.npy", "-k", "301", "--format", "npz", "--output", path)
    with np.load(path, allow_pickle=False) as found:
        assert found["ids"][0, 0] == mercer.load("named.index").search(Q[:1], 1).ids[0, 0]
        assert found["ids"][:, 300].tolist() == [""] * 6


def test_fewer_than_k_items_leave_no_gaps_in_lines():
    line = jsonl(run("search", "a.index", "queries.npy", "-k", "999", "--format", "jsonl").out)[0]
    assert sorted(line["ids"]) == list(range(300))
    assert len(line["scores"]) == len(line["distances"]) == 300


def test_within_as_arrays_and_lines(tmp_path):
    path = tmp_path / "near.npz"
    common = ["within", "a.index", "queries.npy", "--score", "0.7", "--format"]
    run(*common, "npz", "--output", path)
    lines = jsonl(run(*common, "jsonl").out)
    expected = mercer.load("a.index").within(Q, 0.7)
    with np.load(path, allow_pickle=False) as found:
        start, stop = found["offsets"][:-1], found["offsets"][1:]
        for i, one in enumerate(expected):
            assert found["ids"][start[i] : stop[i]].tolist() == one.ids[0].tolist()
            assert lines[i]["ids"] == one.ids[0].tolist()
            assert len(lines[i]["scores"]) == len(one.ids[0])
    assert sum(len(line["ids"]) for line in lines) > 0


def test_queries_are_called_by_their_ids(tmp_path):
    rows = [[name, *row] for name, row in zip("abcdef", Q.tolist(), strict=True)]
    args = ["-k", "1", "--id-column", "1", "--format", "jsonl", "--output", tmp_path / "out"]
    assert run("search", "a.index", "-", *args, stdin=csv(rows)).out == ""
    lines = jsonl((tmp_path / "out").read_text())
    assert [line["query"] for line in lines] == list("abcdef")


def test_where_and_candidates(tmp_path):
    (tmp_path / "some.txt").write_text("3\n5\n8\n")
    where = ["--where", tmp_path / "some.txt"]
    done = run("search", "a.index", "queries.npy", "-k", "9", *where, "--format", "jsonl")
    assert all(sorted(line["ids"]) == [3, 5, 8] for line in jsonl(done.out))
    done = run("within", "a.index", "queries.npy", "--score", "0", *where, "--format", "jsonl")
    assert all(sorted(line["ids"]) == [3, 5, 8] for line in jsonl(done.out))
    done = run("search", "a.index", "queries.npy", "--candidates", "11", "--format", "jsonl")
    assert all(line["evaluations"] <= 11 for line in jsonl(done.out))


def test_effort_is_for_methods_with_a_knob(build, tmp_path):
    build("items.npy", "--kernel", "chi2", "--method", "inverted", "--set", "n_lists=4")
    asked = ["search", tmp_path / "new.index", "queries.npy", "--format", "jsonl"]
    done = run(*asked, "--candidates", "20", "--effort", "2")
    assert all(line["evaluations"] == 20 for line in jsonl(done.out))
    refused = run("search", "a.index", "queries.npy", "--effort", "2")
    assert refused.status != 0
    assert "has no effort to choose" in refused.err


# ---- changing and looking


def test_add_and_remove(build, tmp_path):
    path = tmp_path / "new.index"
    build("items.npy", "--kernel", "chi2")
    assert run("remove", path, "-", stdin=b"7\n9\n").out == f"{path}: 2 items removed, 298 left\n"
    (tmp_path / "ids.txt").write_text("7\n")
    added = run("add", path, "-", "--ids", tmp_path / "ids.txt", stdin=csv(X[7:8].tolist()))
    assert added.out == f"{path}: 1 items added, 299 in all\n"
    assert run("remove", path, "--ids-file", tmp_path / "ids.txt").status == 0
    assert sorted(mercer.load(path).ids.tolist()) == [i for i in range(300) if i not in (7, 9)]


def test_numbers_may_be_names(build, tmp_path):
    """In an index of strings "17" is a string."""
    rows = [[f"n{i}", *row] for i, row in enumerate(X[:20].tolist())]
    build("-", "--kernel", "chi2", "--id-column", "1", stdin=csv(rows))
    path = tmp_path / "new.index"
    more = csv([[17, *X[20].tolist()]])
    assert run("add", path, "-", "--id-column", "1", stdin=more).status == 0
    assert mercer.load(path).ids[-1] == "17"
    assert run("remove", path, "17", "n3").status == 0
    assert len(mercer.load(path)) == 19


def test_failed_changes_change_nothing(build, tmp_path):
    path = tmp_path / "new.index"
    build("items.npy", "--kernel", "chi2")
    before = mercer.verify(path)
    assert run("remove", path, "5", "1000").status == 2
    assert run("add", path, "-", stdin=b"1,2\n").status == 2
    assert mercer.verify(path) == before
    assert len(mercer.load(path)) == 300


def test_info():
    facts = mercer.load("a.index").info()
    found = json.loads(run("info", "a.index", "--json").out)
    assert found.pop("folder") == store.describe("a.index")
    assert found == facts
    out = run("info", "a.index").out
    assert ["kernel", "Chi2()"] in [line.split() for line in out.splitlines()]
    for part, sizes in facts["bytes"].items():
        assert f"memory {sizes['memory']}, disk {sizes['disk']}" in told(out, f"bytes: {part}")
    assert "{" not in out


def told(out, name):
    return next(line for line in out.splitlines() if line.startswith(name))


def test_info_tells_what_was_tried_as_a_table(build, tmp_path):
    build("items.npy", "--kernel", "chi2", settings=())
    out = run("info", tmp_path / "new.index").out
    assert str(mercer.load(tmp_path / "new.index").explain()) in out
    assert "{" not in out


def test_info_of_many_columns_names_the_first(build, tmp_path):
    header = ",".join(f"bin{i}" for i in range(16))
    rows = "\n".join(",".join(map(str, row)) for row in np.eye(16).tolist())
    (tmp_path / "named.csv").write_text(f"{header}\n{rows}\n", encoding="utf-8")
    build(tmp_path / "named.csv", "--kernel", "chi2")
    assert told(run("info", tmp_path / "new.index").out, "columns").endswith("bin7, and 8 more")


def test_verify_names_what_is_damaged(build, tmp_path):
    build("items.npy", "--kernel", "chi2")
    path = tmp_path / "new.index"
    victim = damage(path)
    done = run("verify", path)
    assert (done.status, done.out) == (2, "")
    assert victim.name in done.err
    assert done.err.count("\n") == 1


def damage(path):
    """Change the middle of the last part that was written, the rows of a segment."""
    [*_, segment] = store.read(path, lambda opened: opened.index["segments"])
    victim = path / "parts" / segment["content"]["part"]
    content = bytearray(victim.read_bytes())
    content[200] ^= 1
    victim.write_bytes(content)
    return victim


def test_repair_keeps_what_is_sound(build, tmp_path):
    build("items.npy", "--kernel", "chi2")
    path = tmp_path / "new.index"
    assert run("repair", path).out == f"{path}: nothing is damaged, 300 items\n"
    np.save(tmp_path / "more.npy", X[:5])
    run("add", path, tmp_path / "more.npy")
    victim = damage(path)
    done = run("repair", path)
    assert done.status == 0
    assert f"dropped 5 rows, removed ones among them (parts/{victim.name}" in done.out
    assert "repaired, 300 items" in done.out
    mercer.verify(path)
    assert run("repair", tmp_path).status == 2
    assert "is not an index" in run("repair", tmp_path).err


def test_compact(build, tmp_path):
    build("items.npy", "--kernel", "chi2")
    path = tmp_path / "new.index"
    run("remove", path, "3", "5")
    assert run("compact", path).out == f"{path}: 298 items in 1 segments\n"
    assert mercer.load(path).info()["removed"] == 0


def test_evaluate():
    facts = json.loads(run("evaluate", "a.index", "items.npy", "queries.npy", "--json").out)
    expected = mercer.load("a.index").search(Q, 10)
    assert (facts["recall@10"], facts["exact"], facts["queries"]) == (1, 1, 6)
    assert facts["evaluations"] == pytest.approx(expected.evaluations.mean())
    assert facts["evaluations / items"] == pytest.approx(expected.evaluations.mean() / 300)
    assert facts["queries per second"] > 0
    assert facts["brute force per second"] > 0
    args = ["-k", "20", "--candidates", "1", "--json"]
    some = json.loads(run("evaluate", "a.index", "items.npy", "queries.npy", *args).out)
    assert some["recall@20"] == pytest.approx(1 / 20)


def test_demo(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(commands.demonstration, "run", lambda *args: asked.append(args))
    assert run("demo").status == 0
    assert run("demo", "--output", tmp_path / "x.html", "--open").status == 0
    assert asked == [(None, False), (tmp_path / "x.html", True)]


def test_version_and_no_command():
    assert run("--version").out == f"mercer {mercer.__version__}\n"
    assert run().out == run("--help").out != ""

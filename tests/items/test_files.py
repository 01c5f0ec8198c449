"""Files of items and ids: every format gives back what was written, and bad ones say where."""

from __future__ import annotations

import io
import struct
import sys
import types

import numpy as np
import pytest
import scipy.sparse

from mercer import items
from mercer.errors import InputError
from mercer.items import files

rng = np.random.default_rng(11)
FLOATS = rng.normal(size=(7, 5)).astype(np.float32)
BYTES = rng.integers(0, 256, (7, 5)).astype(np.uint8)
SIGNED = rng.integers(-128, 128, (7, 5)).astype(np.int8)
WHOLE = rng.integers(-1000, 1000, (7, 5)).astype(np.int32)


# ---- writers of their own, so that readers are not tested against themselves


def vecs(X):
    return b"".join(struct.pack("<i", len(row)) + row.tobytes() for row in X)


def bins(X):
    return struct.pack("<II", *X.shape) + X.tobytes()


def npy(X):
    stream = io.BytesIO()
    np.save(stream, X)
    return stream.getvalue()


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def csv(X, comma=","):
    return "".join(comma.join(map(str, row)) + "\n" for row in X.tolist()).encode()


GOOD = {
    "items.npy": (npy(FLOATS), FLOATS),
    "double.npy": (npy(FLOATS.astype(float)), FLOATS.astype(float)),
    "fortran.npy": (npy(np.asfortranarray(BYTES)), BYTES),
    "ITEMS.NPY": (npy(FLOATS), FLOATS),
    "one.npz": (npz(whatever=FLOATS), FLOATS),
    "named.npz": (npz(y=BYTES, X=FLOATS), FLOATS),
    "items.fvecs": (vecs(FLOATS), FLOATS),
    "items.ivecs": (vecs(WHOLE), WHOLE),
    "items.bvecs": (vecs(BYTES), BYTES),
    "items.fbin": (bins(FLOATS), FLOATS),
    "items.u8bin": (bins(BYTES), BYTES),
    "items.i8bin": (bins(SIGNED), SIGNED),
    "items.csv": (csv(FLOATS), FLOATS),
    "items.tsv": (csv(FLOATS, "\t"), FLOATS),
    "header.csv": (b"a,b,c,d,e\r\n\r\n" + csv(FLOATS).replace(b"\n", b"\r\n"), FLOATS),
    "marked.csv": (b"\xef\xbb\xbf" + csv(FLOATS), FLOATS),
    "quoted.csv": (b'"left, side","right"\n"1", 2\n3,"4e0"', np.array([[1, 2], [3, 4]])),
}
MAPPED = [".npy", ".fvecs", ".ivecs", ".bvecs", ".fbin", ".u8bin", ".i8bin"]


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # so that error texts have short names

    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return name

    return write


@pytest.fixture
def pipe(monkeypatch):
    def pipe(content):
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(content)))

    return pipe


@pytest.mark.parametrize("name", GOOD)
def test_every_format_gives_back_what_was_written(name, write):
    content, expected = GOOD[name]
    found = files.read_items(write(name, content))
    np.testing.assert_array_equal(found.X, expected)
    assert found.ids is None
    if not name.endswith(("csv", "tsv")):
        assert found.X.dtype == expected.dtype


@pytest.mark.parametrize("extension", MAPPED)
def test_large_files_stay_on_disk(extension, write):
    content, _ = GOOD[f"items{extension}"]
    X = files.read_items(write(f"items{extension}", content)).X
    while not isinstance(X, np.memmap):
        assert isinstance(X, np.ndarray), "the file was copied"
        X = X.base
    assert not X.flags.writeable


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_sparse_matrices(layout, write, tmp_path):
    S = scipy.sparse.csr_array(BYTES.astype(np.float32) * (BYTES > 128))
    scipy.sparse.save_npz(tmp_path / "items.npz", S.asformat(layout))
    X = files.read_items(tmp_path / "items.npz").X
    assert X.format == "csr"
    np.testing.assert_array_equal(X.toarray(), S.toarray())


def test_another_array_by_its_key(write):
    path = write("items.npz", npz(X=FLOATS, train=BYTES))
    np.testing.assert_array_equal(files.read_items(path, key="train").X, BYTES)


@pytest.mark.parametrize("content", [csv(FLOATS), npy(FLOATS)], ids=["csv", "npy"])
def test_standard_input(content, pipe):
    pipe(content)
    np.testing.assert_array_equal(files.read_items("-").X, FLOATS)


# ---- ids


@pytest.mark.parametrize("column", ["name", "2"])
def test_column_of_ids(column, write):
    path = write("items.csv", b"x,name,y\n1,ann,2\n3,bob,4\n")
    X, ids, *_ = files.read_items(path, id_column=column)
    assert ids.tolist() == ["ann", "bob"]
    assert X.tolist() == [[1, 2], [3, 4]]


def test_column_of_ids_without_a_header(write):
    X, ids, *_ = files.read_items(write("items.csv", b"7,0.5\n9,0.25\n"), id_column="1")
    assert ids.dtype == np.int64
    assert (ids.tolist(), X.tolist()) == ([7, 9], [[0.5], [0.25]])


@pytest.mark.parametrize(
    "text, expected",
    [
        ("17\n4\n", [17, 4]),
        (" 17 \r\n\r\n4", [17, 4]),
        ("17\nfour\n", ["17", "four"]),
        ("007\n8\n", ["007", "8"]),  # the zeros belong to the name
        ("1.5\n2\n", ["1.5", "2"]),
        ("99999999999999999999\n", ["99999999999999999999"]),
        ("٣\n", ["٣"]),  # a digit, but not one that an integer is written with
    ],
)
def test_ids_are_integers_where_all_are(text, expected, write, pipe):
    assert files.read_ids(write("ids.txt", text.encode())).tolist() == expected
    pipe(text.encode())
    assert files.read_ids("-").tolist() == expected


def test_ids_of_arrays(write):
    assert files.read_ids(write("ids.npy", npy(np.array(["b", "a"])))).tolist() == ["b", "a"]


# ---- bad files

OBJECTS = np.array([[1, "a"]], object)
FLIPPED = npz(X=BYTES).replace(BYTES.tobytes(), bytes(BYTES.size))
LINES = b"1,2,3\n" * 16
BAD = {
    "missing extension": ("items", b"1,2", ["items: the extension (none) is unknown", ".fvecs"]),
    "unknown extension": ("items.txt", b"1,2", ["items.txt: the extension .txt is unknown"]),
    "empty npy": ("a.npy", b"", ["a.npy: cannot be read as .npy"]),
    "not npy": ("a.npy", b"hello, hello", ["a.npy: cannot be read as .npy", "magic"]),
    "cut npy": ("a.npy", npy(FLOATS)[:-9], ["a.npy: the file has 259 bytes but 268", "(7, 5)"]),
    "cut header": ("a.npy", npy(FLOATS)[:60], ["a.npy: cannot be read as .npy"]),
    "objects": ("a.npy", npy(OBJECTS), ["a.npy: the array holds Python objects", "float32"]),
    "one dimension": ("a.npy", npy(FLOATS[0]), ["a.npy: the array has shape (5,)", "One row per"]),
    "no rows": ("a.npy", npy(FLOATS[:0]), ["a.npy: the array has shape (0, 5)", "At least one"]),
    "strings": ("a.npy", npy(np.array([["x"]])), ["a.npy: the values are of type <U1", "Numbers"]),
    "complex": ("a.npy", npy(np.array([[1j]])), ["a.npy: the values are of type complex128"]),
    "not npz": ("a.npz", b"PK", ["a.npz: its 2 bytes are no .npz archive", "numpy.savez"]),
    "objects in npz": ("a.npz", npz(X=OBJECTS), ["a.npz (X): the array holds Python objects"]),
    "several": ("a.npz", npz(a=FLOATS, b=BYTES), ["a.npz: has several arrays", "--key", "a, b"]),
    "flipped": ("a.npz", FLIPPED, ["a.npz: cannot be read as .npz"]),
    "empty vecs": ("a.fvecs", b"", ["a.fvecs: the file has 0 bytes", "4 bytes"]),
    "negative length": ("a.fvecs", struct.pack("<i", -3), ["a.fvecs: row 0 begins with", "-3"]),
    "cut vecs": ("a.fvecs", vecs(FLOATS)[:-3], ["a.fvecs: row 6 ends after 21 of its 24 bytes"]),
    "only a length": ("a.bvecs", vecs(BYTES)[:4], ["a.bvecs: row 0 ends after 4 of its 9 bytes"]),
    "other length": (
        "a.ivecs", vecs(WHOLE[:3]) + vecs(WHOLE[:1, :2]) + vecs(WHOLE),
        ["a.ivecs: row 3 begins with the length 2 but row 0 with 5"],
    ),
    "short bin": ("a.fbin", b"123", ["a.fbin: the file has 3 bytes", "8 bytes"]),
    "cut bin": ("a.fbin", bins(FLOATS)[:-1], ["a.fbin: it begins with the counts 7 and 5", "148"]),
    "negative bin": ("a.u8bin", struct.pack("<ii", -1, 5), ["a.u8bin: ", "4294967295 and 5"]),
    "bin of nothing": ("a.i8bin", struct.pack("<II", 0, 5), ["a.i8bin: ", "at least one row"]),
    "bin of another type": ("a.fbin", bins(BYTES), ["a.fbin: ", "another type"]),
    "empty csv": ("a.csv", b"\n\n", ["a.csv: is empty"]),
    "only a header": ("a.csv", b"x,y\n", ["a.csv: has a header but no rows"]),
    "word": ("a.csv", LINES + b"1,2,x\n", ["a.csv: line 17 column 3 is 'x'", "number"]),
    "half a header": ("a.csv", b"1,x\n2,3\n", ["a.csv: line 1 column 2 is 'x'"]),
    "nan": ("a.csv", LINES + b"1,nan,2\n", ["a.csv: line 17 column 2 is 'nan'", "finite"]),
    "nan at first": ("a.csv", b"nan,nan\n1,2\n", ["a.csv: line 1 column 1 is 'nan'"]),
    "too large": ("a.csv", LINES + b"1,2,-1e39\n", ["line 17 column 3 is '-1e39'", "float32"]),
    "gap": ("a.csv", b"x,y,z\n" + LINES + b"1,,2\n", ["a.csv: line 18 column 2 is ''"]),
    "short line": ("a.csv", LINES + b"1,2\n", ["a.csv: line 17 has 2 fields but the first has 3"]),
    "not text": ("a.csv", LINES + b"\xff,2,3\n", ["a.csv: line 17 is not UTF-8 text"]),
    "endless quote": ("a.csv", b'1,2\n"3,' + b"4" * 200_000, ["a.csv: is not a table"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_say_where_and_what(case, write):
    name, content, texts = BAD[case]
    with pytest.raises(InputError) as caught:
        files.read_items(write(name, content))
    message = str(caught.value)
    assert [text for text in texts if text not in message] == []
    assert "\n" not in message


@pytest.mark.parametrize(
    "asked",
    [
        {"id_column": "name", "label_column": "kind", "drop": ["note"]},
        {"id_column": "2", "label_column": "5", "drop": ["3"]},
    ],
)
@pytest.mark.parametrize("comma", [",", ";", "\t"])
def test_columns_that_are_no_features(asked, comma, write):
    text = 'x,name,note,y,kind\n1,ann,"a,b;c\td",2,old\n3,bob,,4,new\n'
    text = text if comma == "," else text.replace('"a,b;c\td"', "a").replace(",", comma)
    found = files.read_items(write("items.csv", text.encode()), **asked)
    assert found.X.tolist() == [[1, 2], [3, 4]]
    assert found.ids.tolist() == ["ann", "bob"]
    assert found.labels.tolist() == ["old", "new"]
    assert found.columns == ["x", "y"]


def test_separators_of_standard_input(pipe):
    pipe(b"a;b\n1;2\n")
    found = files.read_items("-", drop=["a"])
    assert (found.X.tolist(), found.columns) == ([[2]], ["b"])


def test_files_without_a_header_have_no_names(write):
    found = files.read_items(write("items.csv", b"1;2;cat\n3;4;dog\n"), label_column="3")
    assert (found.X.tolist(), found.labels.tolist()) == ([[1, 2], [3, 4]], ["cat", "dog"])
    assert (found.ids, found.columns) == (None, None)


def test_bad_columns(write):
    path = write("items.csv", b"x,name\n1,ann\n2,bob\n")
    for column in ("nam", "0", "3"):
        with pytest.raises(InputError, match=rf"no column '{column}'.*x, name.*1 to 2"):
            files.read_items(path, id_column=column)
    with pytest.raises(InputError, match=r"line 2 column 2 is 'ann'"):
        files.read_items(path)
    with pytest.raises(InputError, match="no column beside the ids"):
        files.read_items(write("ids.csv", b"7\n"), id_column="1")
    with pytest.raises(InputError, match=r"only tables .* --ids FILE"):
        files.read_items(write("items.npy", npy(FLOATS)), id_column="1")
    with pytest.raises(InputError, match="'name' is asked for twice"):
        files.read_items(path, id_column="name", drop=["2"])
    with pytest.raises(InputError, match="no column beside the ids and labels"):
        files.read_items(path, id_column="name", label_column="x")
    with pytest.raises(InputError, match=r"line 3 column 3 is 'x'"):  # counted with the ids
        files.read_items(write("more.csv", b"i,a,b\n1,2,3\n4,5,x\n"), id_column="i")


def test_missing_key(write):
    with pytest.raises(InputError, match=r"no array 'Z'\. Pass --key with one of: X"):
        files.read_items(write("items.npz", npz(X=FLOATS)), key="Z")


def test_sparse_indices_outside_the_matrix(write):
    parts = {"indices": np.array([9]), "indptr": np.array([0, 1]), "data": np.ones(1)}
    content = npz(format=np.array(b"csr"), shape=np.array([1, 5]), **parts)
    with pytest.raises(InputError, match=r"bad\.npz: cannot be read as \.npz"):
        files.read_items(write("bad.npz", content))


def test_unusual_sparse_layout(tmp_path):
    scipy.sparse.save_npz(tmp_path / "dia.npz", scipy.sparse.dia_array(np.eye(3)))
    with pytest.raises(InputError, match=r"the format 'dia'\. csr, csc or coo is required"):
        files.read_items(tmp_path / "dia.npz")


def test_missing_files_are_errors_of_the_system(tmp_path):
    for name in ("a.npy", "a.npz", "a.fvecs", "a.fbin", "a.csv"):
        with pytest.raises(FileNotFoundError):
            files.read_items(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        files.read_ids(tmp_path / "ids.txt")


# ---- headers, and damage of any kind


def test_a_header_of_years_beside_the_name_of_the_ids(tmp_path):
    path = tmp_path / "years.csv"
    path.write_text("name,2019,2020\nann,1,2\nbob,3,4\n")
    found = files.read_items(path, id_column="name")
    assert found.ids.tolist() == ["ann", "bob"]
    np.testing.assert_array_equal(found.X, [[1, 2], [3, 4]])
    path.write_text("ann,2019,2020\nbob,3,4\n")  # by number, the first line is an item
    assert files.read_items(path, id_column="1").ids.tolist() == ["ann", "bob"]


def mutated(content, rng):
    """Return content with a few bytes changed, cut out, doubled or cut off."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(0, len(data)))
        how = rng.integers(0, 5)
        if how == 0:
            data[place] = int(rng.integers(0, 256))
        elif how == 1:
            data[place] ^= 1 << int(rng.integers(0, 8))
        elif how == 2:
            del data[place : place + int(rng.integers(1, 9))]
        elif how == 3:
            data[place:place] = data[place : place + 5]
        else:
            del data[max(1, place) :]
        data = data or bytearray(b"x")
    return bytes(data)


def archive(save, X):
    stream = io.BytesIO()
    save(stream, X)
    return stream.getvalue()


DAMAGED = {
    "a.npy": npy(FLOATS),
    "a.npz": archive(lambda stream, X: np.savez(stream, X=X), FLOATS),
    "b.npz": archive(lambda stream, X: np.savez_compressed(stream, X=X), FLOATS),
    "c.npz": archive(scipy.sparse.save_npz, scipy.sparse.csr_array(FLOATS)),
    "d.npz": archive(
        lambda stream, X: np.savez(stream, values=X, offsets=np.array([0, 3, 7])), FLOATS
    ),
    "a.fvecs": vecs(FLOATS),
    "a.fbin": bins(FLOATS),
    "a.csv": b"a,b\n1,2\n3,4\n",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_read_or_refused(name, tmp_path):
    chance = np.random.default_rng(len(name))
    path = tmp_path / name
    for _ in range(150):
        path.write_bytes(mutated(DAMAGED[name], chance))
        try:
            read = files.read_items(path)
        except InputError as error:
            told = str(error)
        else:
            told = f"{path} has {items.length(read.X)} items"
        assert str(path) in told

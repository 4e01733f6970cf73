"""The names of recordings in tables, whose paths may be any bytes."""

import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as some

import session_tape as st
from recordings import talk

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="paths are bytes on Linux only")


def write(folder, *names):
    for name in names:
        path = os.path.join(os.fsencode(folder), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(talk(len(name)))


def sources(paths):
    return st.table(paths, "sessions").read_all()["source"].to_pylist()


def test_a_path_that_is_not_utf_8_has_a_name_that_leads_back_to_it(tmp_path):
    write(tmp_path, b"\xff/a.jsonl", b"\xfe/a.jsonl", b"\xff.jsonl", b"100%\xff.jsonl", "ä%C3%A4 100%25.jsonl".encode())
    expected = [f"{tmp_path}/{name}" for name in ["ä%C3%A4 100%25.jsonl", "100%25%FF.jsonl", "%FE/a.jsonl", "%FF.jsonl", "%FF/a.jsonl"]]
    assert sorted(sources(tmp_path)) == sorted(expected)
    table = st.events(tmp_path).read_all()
    assert all(st.verify_rows(table).to_pylist()) and table.num_rows
    assert sorted(sources(expected)) == sorted(expected), "a name is a path"


def test_a_glob_finds_a_path_that_is_not_utf_8(tmp_path):
    write(tmp_path, b"\xff.jsonl", b"\xfe/\xfd.jsonl", b"a.jsonl", b"\xfe/deep/b.jsonl")
    assert sources(f"{tmp_path}/*.jsonl") == [f"{tmp_path}/a.jsonl", f"{tmp_path}/%FF.jsonl"]
    assert sources(f"{tmp_path}/?/?.jsonl") == [f"{tmp_path}/%FE/%FD.jsonl"]
    assert sources(os.fsdecode(os.fsencode(tmp_path) + b"/\xfe/*.jsonl")) == [f"{tmp_path}/%FE/%FD.jsonl"]
    assert len(sources(f"{tmp_path}/**/*.jsonl")) == 4
    assert sources(f"{tmp_path}/[ab].js*") == [f"{tmp_path}/a.jsonl"]


def test_a_glob_may_be_relative_to_the_working_directory(tmp_path, monkeypatch):
    write(tmp_path, b"d/a.jsonl", b"b.jsonl")
    monkeypatch.chdir(tmp_path)
    assert (sources("*.jsonl"), sources("*/*.jsonl"), sources("./d/*")) == (["b.jsonl"], ["d/a.jsonl"], ["./d/a.jsonl"])
    assert sorted(sources("**/*.jsonl")) == ["b.jsonl", "d/a.jsonl"]
    with pytest.raises(ValueError, match="glob"):
        st.events("d**/*.jsonl")


def test_paths_that_are_not_utf_8_are_exported_once_each(tmp_path):
    folder = tmp_path / "n"
    write(folder, b"\xff/a.jsonl", b"\xfe/a.jsonl")
    report = st.to_delta(folder, tmp_path / "lake")
    assert (report.sources, report.rows["sessions"]) == (2, 2)
    assert st.to_delta(folder, tmp_path / "lake").unchanged == 2
    with open(os.path.join(os.fsencode(folder), b"\xfe/a.jsonl"), "wb") as file:
        file.write(talk(40))
    write(tmp_path / "other", b"c.jsonl")
    again = st.to_delta([os.fsdecode(os.fsencode(folder) + b"/\xfe"), tmp_path / "other"], tmp_path / "lake")
    assert (again.sources, again.rows["sessions"]) == (2, 2)


def test_an_open_file_has_the_name_of_its_path(tmp_path):
    write(tmp_path, b"\xff.jsonl")
    with open(os.fsencode(tmp_path) + b"/\xff.jsonl", "rb") as file:
        assert sources(file) == [f"{tmp_path}/%FF.jsonl"]


NAMES = some.lists(some.sampled_from([b"%", b"25", b"FF", b"\xff", b"%FF", b"%25", b"a", "ä".encode(), b"%20"]), min_size=1, max_size=6)


@given(some.lists(NAMES.map(b"".join), min_size=2, max_size=6, unique=True))
def test_source_names_are_unique(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("names")
    for name in names:
        write(folder, name + b".jsonl")
    table = st.events(folder).read_all()
    found = sources(folder)
    assert len(set(found)) == len(names) and all(st.verify_rows(table).to_pylist())

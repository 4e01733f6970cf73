"""Recordings in bundles, which are made by the command line of the npm package."""

import io
import shutil
import subprocess
from pathlib import Path

import pytest

import session_tape as st
from recordings import talk

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "__test__/fixtures/run/v1/golden"
FORMS = ["recording.cath-bundle", "recording.cath-bundle.tar.zst"]

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not list(ROOT.glob("*.node")),
    reason="the addon of the npm package, which makes bundles, is not built here",
)


def bundle(source, to):
    subprocess.run(["node", ROOT / "cli/main.js", "bundle", "export", source, to], check=True, capture_output=True)
    return to


def without(rows, *left_out):
    return [{name: value for name, value in row.items() if name not in left_out} for row in rows]


@pytest.mark.parametrize("form", FORMS)
def test_a_session_in_a_bundle_has_the_rows_of_the_session(tmp_path, form):
    session = tmp_path / "session.jsonl"
    session.write_bytes(talk(1))
    packed = bundle(session, tmp_path / form)
    for table in ("events", "tool_calls", "sessions"):
        left = without(st.table(session, table).read_all().to_pylist(), "source")
        assert left and left == without(st.table(packed, table).read_all().to_pylist(), "source"), table
    assert {row["source"] for row in st.events(packed).read_all().to_pylist()} == {str(packed)}


@pytest.mark.parametrize("name", ["s.cath-bundle.tar.zst", "s.jsonl", "s", "session.zip"])
def test_the_first_bytes_of_a_file_say_that_it_is_a_bundle(tmp_path, name):
    session = tmp_path / "session.txt"
    session.write_bytes(talk(1, turns=600))
    packed = bundle(session, tmp_path / "d.tar.zst").rename(tmp_path / name)
    content = packed.read_bytes()
    expected = without(st.table(session, "events").read_all().to_pylist(), "source")
    with open(packed, "rb") as file:
        for paths in (packed, [(name, content)], file, io.BytesIO(content)):
            assert without(st.table(paths, "events").read_all().to_pylist(), "source") == expected
    assert all(st.verify_rows(st.events(packed).read_all()).to_pylist())
    assert st.to_parquet(packed, tmp_path / "lake").rows["events"] == len(expected)
    assert st.to_parquet(packed, tmp_path / "lake").unchanged == 1
    assert [path.parent.name for path in (tmp_path / "lake" / "events").rglob("*.parquet")] == ["date=2026-02-11"]
    [row] = st.table([(name, content[:-40])], "sessions").read_all().to_pylist()
    assert row["error"] and row["lines"] == 0 and row["bytes"] == len(content) - 40


@pytest.mark.parametrize("form", FORMS)
def test_a_run_in_a_bundle_has_the_rows_of_the_run(tmp_path, form):
    packed = bundle(GOLDEN, tmp_path / form)
    left, right = (st.events(path, kind="runs").read_all().to_pylist() for path in (GOLDEN, packed))
    assert left and without(left, "source") == without(right, "source")
    [row] = st.table(packed, "runs", verify=True).read_all().to_pylist()
    assert row["error"] is None and row["events"] == len(left)


def test_bundles_in_a_directory_are_found_once_each_and_exported(tmp_path):
    session = tmp_path / "session.jsonl"
    session.write_bytes(talk(2))
    folder = tmp_path / "bundles"
    folder.mkdir()
    for form in FORMS:
        bundle(session, folder / form)
    report = st.to_parquet(folder, tmp_path / "lake")
    assert report.sources == 2 and report.rows["sessions"] == 2
    assert st.to_parquet(folder, tmp_path / "lake").unchanged == 2


def test_a_damaged_bundle_is_a_row_with_its_error(tmp_path):
    session = tmp_path / "session.jsonl"
    session.write_bytes(talk(3))
    packed = bundle(session, tmp_path / FORMS[1])
    packed.write_bytes(packed.read_bytes()[:-40])
    [row] = st.table(packed, "sessions").read_all().to_pylist()
    assert row["error"] and row["lines"] == 0
    assert st.events(packed).read_all().num_rows == 0

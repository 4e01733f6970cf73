"""That Delta Lake tables lose and double no rows: exports that are killed, interrupted or run at the same time, files that can't be read, names that are
used twice."""

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import session_tape as st
from lake import content, ids, is_consistent, names, rows, version
from recordings import session, start, talk, text
from test_delta import GOLDEN, folder, lake, one  # noqa: F401

EXPORT = """
import sys, session_tape as st
st.to_delta(sys.argv[1], sys.argv[2], text_limit=int(sys.argv[3]))
"""


def begun(recordings, to, limit=65536):
    return subprocess.Popen([sys.executable, "-c", EXPORT, recordings, to, str(limit)])


@pytest.fixture
def recordings(tmp_path):
    """Sessions that take some tenths of a second to be written."""
    made = tmp_path / "recordings"
    made.mkdir()
    for number in range(600):
        (made / f"{number}.jsonl").write_bytes(talk(number, turns=20, day=1 + number % 28))
    return made


def killed_once(process, to, table, past):
    """Kills an export as soon as it has committed a table. Returns whether `sources` was not yet committed."""
    while version(to, table) <= past and process.poll() is None:
        time.sleep(0.0005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return version(to, table) > past


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("table", ["events", "tool_calls"])
def test_an_export_that_is_killed_between_two_commits_is_completed_by_the_next(recordings, tmp_path, table):
    lake = tmp_path / "lake"
    assert killed_once(begun(recordings, lake), lake, table, 0)
    assert rows(lake, table) and not rows(lake, "sources"), "it was killed before the last commit"
    assert st.to_delta(recordings, lake).sources == 600
    st.to_delta(recordings, tmp_path / "undisturbed")
    assert content(lake) == content(tmp_path / "undisturbed") and is_consistent(lake)
    assert st.to_delta(recordings, lake).unchanged == 600


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_an_export_that_is_killed_while_it_replaces_rows_is_noticed(recordings, tmp_path):
    """Though what is found afterwards is what was listed before: the same files, and the same options."""
    lake = tmp_path / "lake"
    st.to_delta(recordings, lake)
    before = content(lake)
    past = version(lake, "events")
    assert killed_once(begun(recordings, lake, limit=3), lake, "events", past)
    assert max(len(row["text"] or "") for row in rows(lake, "events")) == 3
    assert {row["fingerprint"] for row in rows(lake, "sources")} == {None}
    assert st.to_delta(recordings, lake).sources == 600
    assert content(lake) == before


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_exports_that_are_killed_at_any_time_double_nothing(recordings, tmp_path):
    lake = tmp_path / "lake"
    for number in range(8):
        process = begun(recordings, lake)
        time.sleep(0.3 + 0.15 * number)
        process.kill()
        process.wait()
        (recordings / f"{number}.jsonl").write_bytes(talk(number, turns=21, day=1 + number % 28))
    st.to_delta(recordings, lake)
    st.to_delta(recordings, tmp_path / "undisturbed")
    assert content(lake) == content(tmp_path / "undisturbed") and is_consistent(lake)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_an_interrupted_export_leaves_complete_tables(recordings, tmp_path):
    lake = tmp_path / "lake"
    code = (
        "import signal, sys; from session_tape.__main__ import main; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "print('begun', flush=True); sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "export", recordings, lake, "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while version(lake, "sources") < 0 and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and said.startswith(b"interrupted"), said
    for table in ("events", "tool_calls", "sessions", "sources"):
        assert version(lake, table) < 1 and rows(lake, table) == []
    assert st.to_delta(recordings, lake).sources == 600 and is_consistent(lake)


def test_concurrent_exports_of_the_same_recordings_double_nothing(recordings, tmp_path):
    lake = tmp_path / "lake"
    processes = [begun(recordings, lake) for _ in range(2)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    st.to_delta(recordings, tmp_path / "undisturbed")
    assert content(lake) == content(tmp_path / "undisturbed") and is_consistent(lake)


def test_concurrent_exports_of_different_recordings_lose_nothing(tmp_path):
    lake = tmp_path / "lake"
    code = "import sys, session_tape as st\nfor n in range(8): st.to_delta([(f'{n}-{sys.argv[1]}', b'torn')], sys.argv[2])"
    processes = [subprocess.Popen([sys.executable, "-c", code, str(number), lake]) for number in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert names(lake) == sorted(f"{n}-{number}" for n in range(8) for number in range(3)) and is_consistent(lake)


def meanwhile(work):
    """An `on_progress` that does something while the recordings of an export are being read, after its tables were opened."""
    return lambda files, read: work() if read else None


def test_a_conflict_is_resolved_by_what_is_read_afterwards(folder, lake):  # noqa: F811
    st.to_delta(folder, lake)
    for name in "ab":
        (folder / f"{name}.jsonl").write_bytes(one(f"second {name}"))
    others = iter([True])

    def other():
        if next(others, False):
            (folder / "a.jsonl").write_bytes(one("third a"))
            st.to_delta(folder, lake)

    report = st.to_delta(folder, lake, on_progress=meanwhile(other))
    assert ids(lake) == [("a.jsonl", "third a"), ("b.jsonl", "second b")] and is_consistent(lake)
    assert report.sources + report.unchanged == 2
    assert st.to_delta(folder, lake).sources <= 1, "at most what has changed since it was looked up"
    assert ids(lake) == [("a.jsonl", "third a"), ("b.jsonl", "second b")] and is_consistent(lake)


def test_what_another_export_has_written_meanwhile_is_not_written_again(folder, lake):  # noqa: F811
    others = iter([True])
    report = st.to_delta(folder, lake, on_progress=meanwhile(lambda: st.to_delta(folder, lake) if next(others, False) else None))
    assert (report.sources, report.unchanged) == (0, 2)
    assert is_consistent(lake) and version(lake, "events") == 1


def test_endless_conflicts_are_an_error(lake, monkeypatch):  # noqa: F811
    monkeypatch.setattr("session_tape._delta._ATTEMPTS", 1)
    with pytest.raises(st.CommitFailed, match="other exports") as found:
        st.to_delta([("a", one("mine"))], lake, on_progress=meanwhile(lambda: st.to_delta([("a", one("other"))], lake)))
    assert isinstance(found.value, OSError)
    assert ids(lake) == [("a", "other")] and is_consistent(lake)
    assert st.to_delta([("a", one("mine"))], lake).sources == 1 and ids(lake) == [("a", "mine")]


def test_an_iterator_of_paths_may_export_to_the_same_lake(folder, lake):  # noqa: F811
    def nested():
        st.to_delta(folder / "b.jsonl", lake)
        yield from (folder / f"{name}.jsonl" for name in "ab")

    report = st.to_delta(nested(), lake)
    assert (report.sources, report.unchanged) == (1, 1) and is_consistent(lake)


def test_forgetting_is_safe_while_an_export_writes(folder, lake):  # noqa: F811
    st.to_delta(folder, lake)
    (folder / "a.jsonl").write_bytes(one("new"))
    others = iter([True])
    st.to_delta(folder, lake, on_progress=meanwhile(lambda: st.forget(lake, [str(folder / "a.jsonl")]) if next(others, False) else None))
    st.to_delta(folder, lake)
    assert ids(lake) == [("a.jsonl", "new"), ("b.jsonl", "b")] and is_consistent(lake)


# Names


def test_open_files_without_a_name_do_not_replace_each_other(lake):  # noqa: F811
    for _ in range(2):
        for recording in (one("x"), one("y", day=12), one("z" * 2_000_000)):
            st.to_delta(io.BytesIO(recording), lake, ["events"])
    found = {row["source"]: row["session_id"] for row in rows(lake, "events")}
    assert len(found) == 3 and all(name.startswith("<file:") and len(name) == 23 for name in found)
    assert st.to_delta([io.BytesIO(one("x")), io.BytesIO(one("y", day=12)), io.BytesIO(one("x"))], lake, ["events"]).unchanged == 2
    assert st.events(io.BytesIO(one("x"))).read_all()["source"].to_pylist() == ["<file>"] * 2


@pytest.mark.parametrize("size", [0, 70_000_000])
def test_two_recordings_of_one_name_are_an_error(lake, size):  # noqa: F811
    """Whether they are found together, or one after the other was written."""
    filler = ("filler", b"x" * size)
    st.to_delta([("a", one("before"))], lake)
    for write in (lambda paths: st.to_delta(paths, lake), lambda paths: st.to_parquet(paths, lake.with_name("files"))):
        with pytest.raises(ValueError, match="^paths .*'a'"):
            write([("a", one("one")), filler, ("a", one("two", day=12))])
    assert names(lake).count("a") == 1 and is_consistent(lake)
    for _ in range(2):
        report = st.to_delta([("a", one("one")), filler, ("a", io.BytesIO(one("one")))], lake)
        assert ids(lake) == [("a", "one"), ("filler", None)]
    assert (report.sources, report.unchanged) == (0, 2)


def test_a_file_that_is_passed_open_too_is_written_once(folder, lake):  # noqa: F811
    path = folder / "a.jsonl"
    for _ in range(2):
        with path.open("rb") as file:
            st.to_delta([path, file], lake)
    assert names(lake) == ["a.jsonl"]
    with pytest.raises(ValueError, match="two different recordings"):
        st.to_delta([path, (str(path), one("other"))], lake)
    assert ids(lake) == [("a.jsonl", "a")]


def test_a_change_that_keeps_the_size_is_noticed(folder, lake):  # noqa: F811
    st.to_delta(folder, lake)
    path = folder / "a.jsonl"
    recording = path.read_bytes()
    for at in (recording.index(b'"a"') + 1, len(recording) - 2):
        changed = bytearray(recording)
        changed[at] ^= 1
        path.write_bytes(changed)
        assert st.to_delta(folder, lake).sources == 1, at
        assert st.to_delta(folder, lake).sources == 0


# Sources that can't be read


@pytest.mark.parametrize("has_grown", [False, True])
@pytest.mark.parametrize("passed", [".", "a.jsonl", "b.jsonl"])
def test_the_rows_of_a_file_that_can_not_be_read_stay(closed, passed, has_grown):
    top, forbidden = closed
    lake, inner = top / "lake", top / "inner"  # noqa: F811
    inner.mkdir()
    for name in "ab":
        (inner / f"{name}.jsonl").write_bytes(one(name))
    st.to_delta(inner, lake)
    if has_grown:
        (inner / "b.jsonl").write_bytes(one("b", text("ai", "more")))
    for made in (lake, *lake.rglob("*")):
        made.chmod(0o777)
    with forbidden(inner / "a.jsonl"):
        report = st.to_delta(inner / passed, lake)
    assert ids(lake) == [("a.jsonl", "a"), ("b.jsonl", "b")]
    is_passed = passed != "a.jsonl"
    assert (report.sources, report.unchanged) == (is_passed and has_grown, is_passed and not has_grown)
    assert len(rows(lake, "events")) == 4 + report.sources
    (inner / "a.jsonl").write_bytes(one("new"))
    st.to_delta(inner, lake)
    assert ids(lake) == [("a.jsonl", "new"), ("b.jsonl", "b")]


@pytest.mark.parametrize("closed_path", ["one", "one/events.cath-log"])
def test_the_rows_of_a_run_that_can_not_be_read_stay(closed, closed_path):
    top, forbidden = closed
    lake, runs = top / "lake", top / "runs"  # noqa: F811
    for name in ("one", "two"):
        shutil.copytree(GOLDEN, runs / name)
    st.to_delta(runs, lake, ["runs"])
    for made in (lake, *lake.rglob("*")):
        made.chmod(0o777)
    with forbidden(runs / closed_path):
        report = st.to_delta(runs, lake, ["runs"])
    assert names(lake, "runs") == ["one", "two"] and [row["error"] for row in rows(lake, "runs")] == [None, None]
    assert (report.sources, report.unchanged) == (0, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="the file that can't be read is one of Linux")
def test_the_rows_of_a_file_with_a_read_error_stay(folder, lake):  # noqa: F811
    st.to_delta(folder, lake)
    (folder / "a.jsonl").unlink()
    # Reading this file at offset 0 fails with EIO.
    (folder / "a.jsonl").symlink_to("/proc/self/mem")
    (folder / "b.jsonl").write_bytes(one("b", text("ai", "more")))
    (folder / "c.jsonl").symlink_to("/proc/self/mem")
    for _ in range(2):
        st.to_delta(folder, lake)
        assert set(ids(lake)) >= {("a.jsonl", "a"), ("b.jsonl", "b")}
        assert len(rows(lake, "events")) == 5


def test_a_damaged_file_replaces_its_rows(folder, lake):  # noqa: F811
    st.to_delta(folder, lake)
    (folder / "a.jsonl").write_bytes(b"damaged")
    st.to_delta(folder, lake)
    assert ids(lake) == [("a.jsonl", None), ("b.jsonl", "b")] and is_consistent(lake)
    assert Path(rows(lake, "sources")[0]["source"]).name == "a.jsonl" and rows(lake, "sources")[0]["error"]
    (folder / "a.jsonl").write_bytes(session(start(sessionId="a")))
    st.to_delta(folder, lake)
    assert ids(lake) == [("a.jsonl", "a"), ("b.jsonl", "b")] and is_consistent(lake)

"""That a lake loses and doubles no rows: exports at the same time, names that are used twice, damaged manifests, files that can't be read."""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import session_tape as st
from recordings import session, start, talk, text


GOLDEN = Path(__file__).parents[2] / "__test__/fixtures/run/v1/golden"


def rows(lake, table="sessions"):
    paths = sorted(Path(lake, table).glob("*/*.parquet"))
    return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]


def sources(lake, table="sessions"):
    return sorted(Path(row["source"]).name for row in rows(lake, table))


def one(name, *records, day=11):
    return session(start(sessionId=name, startTime=f"2026-02-{day}T16:00:00.000Z"), text("human", "hi"), *records)


def ids(lake):
    """The id of the session in each row, by source."""
    return sorted((Path(row["source"]).name, row["session_id"]) for row in rows(lake))


@pytest.fixture
def folder(tmp_path):
    """A folder with the sessions `a` and `b`, which is also the working directory of what has relative paths."""
    made = tmp_path / "sessions"
    made.mkdir()
    for name in "ab":
        (made / f"{name}.jsonl").write_bytes(one(name))
    return made


@pytest.fixture
def lake(tmp_path):
    return tmp_path / "lake"


def manifests(lake):
    return {path: json.loads(path.read_text()) for path in sorted(Path(lake, "_manifests").glob("*.json"))}


# Exports at the same time

#: Exports one recording to a lake, and ends when its standard input is closed. Says when it has begun.
SLOW = """
import sys, session_tape as st

def paths():
    print("begun", flush=True)
    sys.stdin.read()
    yield sys.argv[1]

st.to_parquet(paths(), sys.argv[2])
"""

EXPORT = "import sys, session_tape as st; st.to_parquet(sys.argv[1], sys.argv[2])"


@pytest.fixture
def slow(folder, lake):
    process = subprocess.Popen([sys.executable, "-c", SLOW, folder / "a.jsonl", lake], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"begun\n"
    yield process
    process.kill()
    process.communicate()


def test_an_export_waits_for_the_end_of_another(folder, lake, slow):
    waiting = subprocess.Popen([sys.executable, "-c", EXPORT, folder, lake])
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(timeout=2)
    assert not manifests(lake)
    slow.communicate()
    assert waiting.wait(timeout=60) == 0 and slow.returncode == 0
    assert sources(lake) == ["a.jsonl", "b.jsonl"]


def test_an_export_does_not_wait_for_one_that_was_killed(folder, lake, slow):
    slow.kill()
    slow.wait()
    subprocess.run([sys.executable, "-c", EXPORT, folder, lake], check=True, timeout=60)
    assert sources(lake) == ["a.jsonl", "b.jsonl"]


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_an_export_that_waits_can_be_interrupted(folder, lake, slow):
    # The handler is set because a shell that starts the tests in the background has them ignore the signal.
    code = (
        "import signal, session_tape as st; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"print('begun', flush=True); st.to_parquet({str(folder)!r}, {str(lake)!r})"
    )
    waiting = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert waiting.stdout.readline() == b"begun\n"
    time.sleep(0.5)
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=60)
    assert b"KeyboardInterrupt" in said and slow.poll() is None, "it ended while the other one had the lake"


def test_many_exports_at_the_same_time(tmp_path, lake):
    code = "import sys, session_tape as st\nfor n in range(20): st.to_parquet([(f'{sys.argv[1]}-{n}', b'torn')], sys.argv[2], prune=True)"
    processes = [subprocess.Popen([sys.executable, "-c", code, str(number), lake]) for number in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert len(sources(lake)) == len(set(sources(lake))) == 60


def test_paths_that_export_to_the_same_lake_are_an_error(tmp_path, folder, lake):
    def nested(inner):
        st.to_parquet(folder, inner)
        yield folder / "a.jsonl"

    with pytest.raises(RuntimeError, match="same lake"):
        st.to_parquet(nested(lake / ".." / "lake"), lake)
    assert st.to_parquet(nested(tmp_path / "other"), lake).sources == 1
    assert st.to_parquet(folder, lake, prune=True).unchanged == 1
    assert sources(lake) == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize("gone", ["", "a", "b", "ab"])
def test_a_source_in_two_manifests_is_left_in_one(tmp_path, folder, lake, gone):
    other = tmp_path / "other"
    st.to_parquet(folder / "a.jsonl", other)
    with (folder / "a.jsonl").open("ab") as file:
        file.write(session(text("ai", "more")))
    st.to_parquet(folder, lake)
    # As two exports of an earlier version left it that did not wait for each other.
    shutil.copytree(other, lake, dirs_exist_ok=True)
    assert sources(lake) == ["a.jsonl", "a.jsonl", "b.jsonl"]
    for name in gone:
        (folder / f"{name}.jsonl").unlink()
    st.to_parquet([], lake, prune=True)
    assert sources(lake) == ["a.jsonl", "b.jsonl"] and len(rows(lake, "events")) == 5
    listed = [source["name"] for manifest in manifests(lake).values() for source in manifest["sources"]]
    assert sorted(listed) == sorted(str(folder / f"{name}.jsonl") for name in "ab")
    again = st.to_parquet(folder, lake, prune=True)
    assert (again.sources, again.unchanged, again.pruned) == (0, 2 - len(gone), 0)


def test_a_source_in_two_manifests_keeps_the_tables_of_both(tmp_path, folder, lake):
    st.to_parquet(folder, lake, ["events"])
    st.to_parquet(folder / "a.jsonl", tmp_path / "other", ["sessions"])
    shutil.copytree(tmp_path / "other", lake, dirs_exist_ok=True)
    st.to_parquet([], lake, ["events"], prune=True)
    assert "a.jsonl" in sources(lake) and len(rows(lake, "events")) == 4


# Names

def test_open_files_without_a_name_do_not_replace_each_other(lake):
    for _ in range(2):
        for content in (one("x"), one("y", day=12), one("z" * 2_000_000)):
            st.to_parquet(io.BytesIO(content), lake, ["events"], prune=True)
    found = {row["source"]: row["session_id"] for row in rows(lake, "events")}
    assert len(found) == 3 and all(name.startswith("<file:") and len(name) == 23 for name in found)
    assert st.to_parquet([io.BytesIO(one("x")), io.BytesIO(one("y", day=12)), io.BytesIO(one("x"))], lake, ["events"]).unchanged == 2
    assert st.events(io.BytesIO(one("x"))).read_all()["source"].to_pylist() == ["<file>"] * 2


@pytest.mark.parametrize("size", [0, 70_000_000])
@pytest.mark.parametrize("day", [11, 12])
def test_two_recordings_of_one_name_are_an_error(lake, size, day):
    """In one window of recordings that are kept in memory, or in two."""
    filler = ("filler", b"x" * size)
    st.to_parquet([("a", one("before"))], lake)
    with pytest.raises(ValueError, match="^paths .*'a'"):
        st.to_parquet([("a", one("one")), filler, ("a", one("two", day=day))], lake, prune=True)
    listed = [source["name"] for manifest in manifests(lake).values() for source in manifest["sources"]]
    assert listed.count("a") == 1
    for _ in range(2):
        report = st.to_parquet([("a", one("one")), filler, ("a", io.BytesIO(one("one")))], lake, prune=True)
        assert ids(lake) == [("a", "one"), ("filler", None)]
    assert (report.sources, report.unchanged) == (0, 2)


def test_a_file_that_is_passed_open_too_is_exported_once(folder, lake):
    path = folder / "a.jsonl"
    for _ in range(2):
        with path.open("rb") as file:
            st.to_parquet([path, file], lake)
    assert sources(lake) == ["a.jsonl"]
    with pytest.raises(ValueError, match="two different recordings"):
        st.to_parquet([path, (str(path), one("other"))], lake)
    assert ids(lake) == [("a.jsonl", "a")]


def test_names_of_bytes_are_not_those_of_files(folder, lake, monkeypatch):
    monkeypatch.chdir(folder)
    with open("b.jsonl", "rb") as file:
        st.to_parquet([("a.jsonl", one("bytes of a")), file], lake)
    (folder / "a.jsonl").write_bytes(one("unrelated"))
    (folder / "b.jsonl").write_bytes(one("unrelated"))
    more = [("a.jsonl", one("bytes of a", text("ai", "more")))]
    for _ in range(2):
        st.to_parquet(more, lake, prune=True)
        assert ids(lake) == [("a.jsonl", "bytes of a"), ("b.jsonl", "b")] and len(rows(lake, "events")) == 5
    (folder / "b.jsonl").unlink()
    (folder / "b.jsonl").mkdir()
    st.to_parquet([("a.jsonl", one("bytes of a"))], lake, prune=True)
    assert ids(lake) == [("a.jsonl", "bytes of a"), ("b.jsonl", "b")], "nor those of directories"


def test_sources_of_earlier_versions_are_read_at_their_paths(folder, lake):
    st.to_parquet(folder, lake)
    [(path, manifest)] = manifests(lake).items()
    for source in manifest["sources"]:
        assert source.pop("has_path") is True
    # Nor need they be sorted.
    manifest["sources"].reverse()
    path.write_text(json.dumps(manifest))
    assert st.to_parquet(folder, lake).unchanged == 2
    for name in "ab":
        (folder / f"{name}.jsonl").write_bytes(one(f"new {name}"))
    st.to_parquet(folder / "a.jsonl", lake, prune=True)
    assert ids(lake) == [("a.jsonl", "new a"), ("b.jsonl", "new b")]


def test_sources_of_earlier_versions_are_exported_once_more(folder, lake):
    st.to_parquet(folder, lake)
    before = ids(lake)
    [(path, manifest)] = manifests(lake).items()
    for source in manifest["sources"]:
        assert len(source.pop("xxh3")) == 32
        source["sha256"] = hashlib.sha256((folder / Path(source["name"]).name).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest))
    report = st.to_parquet(folder, lake, prune=True)
    assert (report.sources, report.unchanged) == (2, 0)
    assert ids(lake) == before
    assert st.to_parquet(folder, lake).unchanged == 2


def test_a_change_that_keeps_the_size_is_noticed(folder, lake):
    st.to_parquet(folder, lake)
    path = folder / "a.jsonl"
    content = path.read_bytes()
    for at in (content.index(b'"a"') + 1, len(content) - 2):
        changed = bytearray(content)
        changed[at] ^= 1
        path.write_bytes(changed)
        report = st.to_parquet(folder, lake, prune=True)
        assert report.sources > 0, at
        assert st.to_parquet(folder, lake).sources == 0


# Manifests and pruning

@pytest.mark.parametrize("damage", ["cut", "empty", "other", "directory", "link"])
def test_a_damaged_manifest_stops_an_export(folder, lake, damage):
    st.to_parquet(folder, lake)
    (lake / "events" / "date=2026-02-11" / f"part-{'0' * 32}.parquet").write_bytes(b"not listed")
    [path] = manifests(lake)
    content = path.read_text()
    path.unlink()
    match damage:
        case "cut":
            path.write_text(content[:50])
        case "empty":
            path.write_text("")
        case "other":
            path.write_text("{}")
        case "directory":
            path.mkdir()
        case "link":
            path.symlink_to("nothing")
    (folder / "a.jsonl").write_bytes(one("new"))
    before = sorted((path, path.lstat().st_mtime_ns) for path in lake.rglob("*"))
    with pytest.raises(OSError, match=f"{path.name}.*Restore the file, or delete it"):
        st.to_parquet(folder, lake, prune=True)
    assert sorted((path, path.lstat().st_mtime_ns) for path in lake.rglob("*")) == before
    path.rmdir() if damage == "directory" else path.unlink()
    path.write_text(content)
    assert st.to_parquet(folder, lake, prune=True).pruned == 4


def test_other_files_among_the_manifests_are_ignored(folder, lake):
    (lake / "_manifests").mkdir(parents=True)
    for name in ("._0.json", "notes.txt", ".0.json.swp"):
        (lake / "_manifests" / name).write_text("no manifest")
    assert st.to_parquet(folder, lake, prune=True).pruned == 0
    assert st.to_parquet(folder, lake, prune=True).unchanged == 2


def test_only_files_of_the_lake_are_pruned(tmp_path, folder, lake):
    st.to_parquet(folder, lake)
    ours, elsewhere = f"part-{'0a' * 16}.parquet", tmp_path / "elsewhere"
    day = lake / "events" / "date=2026-02-10"
    kept = [
        day / "part-00000-8a1b.c000.snappy.parquet",
        day / f"part-{'0A' * 16}.parquet",
        day / ".part-mine.crc",
        day / "inner" / ours,
        lake / "events" / "backup" / ours,
        lake / "other" / ours,
        lake / "_temporary" / "0" / "part-0.parquet",
        elsewhere / ours,
    ]
    pruned = [day / ours, day / ".part-Ab1.tmp", lake / "_temporary" / ".part-Ab1.tmp", lake / "_manifests" / ".Ab1.tmp"]
    for path in kept + pruned:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    for link in (lake / "events" / "date=2026-02-09", lake / "tool_calls" / "link", day / "link"):
        link.symlink_to(elsewhere)
    assert st.to_parquet(folder, lake, prune=True).pruned == len(pruned)
    assert all(path.exists() for path in kept) and not any(path.exists() for path in pruned)
    assert sources(lake, "sessions") == ["a.jsonl", "b.jsonl"]


# Sources that can't be read

@pytest.mark.parametrize("has_grown", [False, True])
@pytest.mark.parametrize("passed", [".", "a.jsonl", "b.jsonl"])
def test_the_rows_of_a_file_that_can_not_be_read_stay(closed, passed, has_grown):
    folder, forbidden = closed
    lake, inner = folder / "lake", folder / "inner"
    inner.mkdir()
    for name in "ab":
        (inner / f"{name}.jsonl").write_bytes(one(name))
    st.to_parquet(inner, lake)
    if has_grown:
        (inner / "b.jsonl").write_bytes(one("b", text("ai", "more")))
    for made in (lake, *lake.rglob("*")):
        made.chmod(0o777)
    with forbidden(inner / "a.jsonl"):
        report = st.to_parquet(inner / passed, lake, prune=True)
    assert ids(lake) == [("a.jsonl", "a"), ("b.jsonl", "b")]
    is_passed = passed != "a.jsonl"
    assert (report.sources, report.unchanged) == (is_passed and has_grown, is_passed and not has_grown)
    assert len(rows(lake, "events")) == 4 + report.sources
    (inner / "a.jsonl").write_bytes(one("new"))
    st.to_parquet(inner, lake, prune=True)
    assert ids(lake) == [("a.jsonl", "new"), ("b.jsonl", "b")]


@pytest.mark.parametrize("closed_path", ["one", "one/events.cath-log"])
def test_the_rows_of_a_run_that_can_not_be_read_stay(closed, closed_path):
    folder, forbidden = closed
    lake, runs = folder / "lake", folder / "runs"
    for name in ("one", "two"):
        shutil.copytree(GOLDEN, runs / name)
    st.to_parquet(runs, lake, ["runs"])
    for made in (lake, *lake.rglob("*")):
        made.chmod(0o777)
    with forbidden(runs / closed_path):
        report = st.to_parquet(runs, lake, ["runs"], prune=True)
    assert sources(lake, "runs") == ["one", "two"] and [row["error"] for row in rows(lake, "runs")] == [None, None]
    assert (report.sources, report.unchanged) == (0, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="the file that can't be read is one of Linux")
def test_the_rows_of_a_file_with_a_read_error_stay(folder, lake):
    st.to_parquet(folder, lake)
    (folder / "a.jsonl").unlink()
    # Reading this file at offset 0 fails with EIO.
    (folder / "a.jsonl").symlink_to("/proc/self/mem")
    (folder / "b.jsonl").write_bytes(one("b", text("ai", "more")))
    (folder / "c.jsonl").symlink_to("/proc/self/mem")
    for _ in range(2):
        st.to_parquet(folder, lake, prune=True)
        assert {source for source in ids(lake)} >= {("a.jsonl", "a"), ("b.jsonl", "b")}
        assert len(rows(lake, "events")) == 5


def test_a_new_file_that_can_not_be_read_is_a_row(folder, lake):
    st.to_parquet(folder, lake)
    (folder / "c.jsonl").symlink_to("nothing")
    st.to_parquet(folder, lake)
    [row] = [row for row in rows(lake) if row["source"].endswith("c.jsonl")]
    assert row["error"].startswith("Failed to read file")


def test_a_damaged_file_replaces_its_rows(folder, lake):
    st.to_parquet(folder, lake)
    (folder / "a.jsonl").write_bytes(b"damaged")
    st.to_parquet(folder, lake, prune=True)
    assert ids(lake) == [("a.jsonl", None), ("b.jsonl", "b")]


# Tables

@pytest.mark.parametrize("turns", [2, 9_000])
def test_a_new_source_gets_the_requested_tables_only(tmp_path, lake, turns):
    """With small sessions, and with one that is large enough to be converted in parts."""
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a.jsonl").write_bytes(talk(1, turns=turns))
    st.to_parquet(tmp_path / "f", lake)
    (tmp_path / "f" / "a.jsonl").write_bytes(talk(1, turns=turns + 1))
    (tmp_path / "f" / "b.jsonl").write_bytes(talk(2))
    report = st.to_parquet(tmp_path / "f", lake, ["events"], prune=True)
    assert sources(lake) == ["a.jsonl"] and report.rows["sessions"] == 1
    assert {Path(row["source"]).name for row in rows(lake, "events")} == {"a.jsonl", "b.jsonl"}
    assert len(rows(lake, "tool_calls")) == turns + 1
    assert st.to_parquet(tmp_path / "f", lake, ["events"]).unchanged == 2
    # A source that moves to another day keeps its tables.
    (tmp_path / "f" / "a.jsonl").write_bytes(talk(1, turns=3, day=20))
    (tmp_path / "f" / "c.jsonl").write_bytes(talk(3, day=20))
    st.to_parquet(tmp_path / "f", lake, ["events"], prune=True)
    assert sources(lake) == ["a.jsonl"] and len(rows(lake, "tool_calls")) == 3

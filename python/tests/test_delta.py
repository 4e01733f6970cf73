"""Delta Lake tables: what they have, and what an export changes in them."""

import os
import shutil
import stat
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import session_tape as st
from lake import content, ids, is_consistent, listed, names, rows, version
from recordings import session, start, talk, text
from test_bundles import bundle, pytestmark as with_bundles

GOLDEN = Path(__file__).parents[2] / "__test__/fixtures/run/v1/golden"
RUNS = ("run_events", "runs")
SESSIONS = ("events", "tool_calls", "sessions")


def one(name, *records, day=11):
    return session(start(sessionId=name, startTime=f"2026-02-{day}T16:00:00.000Z"), text("human", "hi"), *records)


@pytest.fixture
def folder(tmp_path):
    """A folder with the sessions `a` and `b`."""
    made = tmp_path / "sessions"
    made.mkdir()
    for name in "ab":
        (made / f"{name}.jsonl").write_bytes(one(name))
    return made


@pytest.fixture
def lake(tmp_path):
    return tmp_path / "lake"


@pytest.mark.parametrize("table", SESSIONS)
def test_a_table_has_the_rows_of_the_stream(fleet, lake, table):
    report = st.to_delta(fleet, lake, [table], include_payload=True)
    streamed = st.table(fleet, table, include_payload=True).read_all()
    plain = streamed.cast(pa.schema([field for field in st.schema(table, include_payload=True) if field.name != "date"]))
    expected = sorted(plain.to_pylist(), key=lambda row: (row["source"], row.get("line") or row.get("called_line"), row.get("tool_call_id") or ""))
    found = rows(lake, table)
    assert [{name: value for name, value in row.items() if name != "date"} for row in found] == expected
    assert report.rows == {table: len(expected)} and report.sources == 60
    days = {row["source"]: row["started_at"].date() for row in st.table(fleet, "sessions").read_all().to_pylist()}
    assert {row["source"]: row["date"] for row in found} == {source: days[source] for source in {row["source"] for row in found}}


@pytest.mark.parametrize("table", st.TABLES)
def test_the_columns_are_those_of_the_schema(lake, table):
    st.to_delta([], lake, [table], include_payload=True)
    opened = DeltaTable(str(lake / table))
    assert opened.metadata().partition_columns == ["date"]
    made = pa.schema(opened.schema().to_arrow())
    expected = st.schema(table, include_payload=True)
    assert made.names == expected.names
    assert [(field.type, field.nullable) for field in made] == [(field.type, field.nullable) for field in expected]
    for field in expected:
        assert not pa.types.is_dictionary(field.type) and not pa.types.is_fixed_size_binary(field.type) and not pa.types.is_duration(field.type)


def test_an_export_that_is_repeated_commits_nothing(fleet, lake):
    first = st.to_delta(fleet, lake)
    before = content(lake)
    again = st.to_delta(fleet, lake)
    assert (again.sources, again.unchanged, again.bytes, again.versions) == (0, 60, 0, first.versions)
    assert content(lake) == before and version(lake, "sources") == 1


def test_sources_lists_what_was_written(fleet, lake):
    st.to_delta(fleet, lake)
    found = rows(lake, "sources")
    assert len(found) == 60 and is_consistent(lake)
    [row] = (row for row in found if row["source"].endswith("/session-7.jsonl"))
    assert row["bytes"] == len(talk(7, turns=4, day=11)) and row["date"] == date(2026, 2, 11)
    assert (row["kind"], row["options"], row["schema_version"], row["error"]) == ("sessions", "include_payload=0 text_limit=65536", "3", None)
    assert (row["sessions_rows"], row["runs_rows"]) == (1, None) and row["exported_at"] is not None


def test_only_rows_of_changed_sources_are_replaced(tmp_path, lake):
    recordings = [(f"{number}.jsonl", talk(number)) for number in range(30)]
    st.to_delta(recordings, lake)
    before = {row["source"]: row["exported_at"] for row in rows(lake, "sources")}
    changed = {"3.jsonl", "17.jsonl", "new.jsonl"}
    recordings[3], recordings[17] = (("3.jsonl", talk(3) + session(text("human", "one more"))), ("17.jsonl", talk(40, turns=1)))
    report = st.to_delta([*recordings, ("new.jsonl", talk(99))], lake)
    assert (report.sources, report.unchanged) == (3, 28)
    after = {row["source"]: row["exported_at"] for row in rows(lake, "sources")}
    assert {source for source in after if after[source] != before.get(source)} == changed
    assert len(names(lake)) == len(set(names(lake))) == 31 and is_consistent(lake)
    assert sum(row["text"] == "one more" for row in rows(lake, "events")) == 1
    st.to_delta([*recordings, ("new.jsonl", talk(99))], tmp_path / "fresh")
    assert content(lake) == content(tmp_path / "fresh")


def test_the_rows_of_sources_that_are_gone_stay_until_they_are_forgotten(lake):
    st.to_delta([(f"{number}.jsonl", talk(number)) for number in range(4)], lake)
    st.to_delta([("1.jsonl", talk(1) + session(text("human", "more"))), ("9.jsonl", talk(9))], lake)
    assert names(lake) == ["0.jsonl", "1.jsonl", "2.jsonl", "3.jsonl", "9.jsonl"] and is_consistent(lake)
    deleted = st.forget(lake, ["0.jsonl", "3.jsonl", "nothing.jsonl"])
    assert deleted == {"sources": 2, "events": 50, "tool_calls": 12, "sessions": 2}
    assert names(lake) == ["1.jsonl", "2.jsonl", "9.jsonl"] and is_consistent(lake)
    assert st.forget(lake, "0.jsonl") == dict.fromkeys(deleted, 0)
    assert st.to_delta([("0.jsonl", talk(0))], lake).sources == 1 and is_consistent(lake)
    with pytest.raises(TypeError, match="^sources "):
        st.forget(lake, [5])


def test_tables_can_be_added_or_left_out_by_later_exports(folder, lake):
    st.to_delta(folder, lake, ["events"])
    st.to_delta(folder, lake, ["sessions"])
    assert names(lake) == ["a.jsonl", "b.jsonl"] and is_consistent(lake, ["events", "sessions"])
    # A source that changes keeps the tables that it had, a new one gets those that are asked for.
    (folder / "a.jsonl").write_bytes(one("a", text("ai", "more")))
    (folder / "c.jsonl").write_bytes(one("c"))
    report = st.to_delta(folder, lake, ["events"])
    assert report.rows == {"events": 5, "sessions": 1}
    assert names(lake) == ["a.jsonl", "b.jsonl"] and len(rows(lake, "events")) == 7
    assert st.to_delta(folder, lake, ["events"]).unchanged == 3
    assert st.to_delta(folder, lake).sources == 3 and is_consistent(lake)
    shutil.rmtree(lake / "tool_calls")
    assert st.to_delta(folder, lake).unchanged == 0 and is_consistent(lake)


def test_options_decide_whether_a_source_has_changed(folder, lake):
    st.to_delta(folder, lake)
    assert st.to_delta(folder, lake, text_limit=1).sources == 2
    assert {row["text"] for row in rows(lake, "events")} == {None, "h"}
    assert st.to_delta(folder / "a.jsonl", lake, include_payload=True).sources == 1
    payloads = {Path(row["source"]).name: row["payload"] is None for row in rows(lake, "events")}
    assert payloads == {"a.jsonl": False, "b.jsonl": True}
    assert st.to_delta(folder, lake, verify=True).unchanged == 0
    assert st.to_delta(folder, lake).unchanged == 2, "sessions are not verified"
    assert {row["payload"] for row in rows(lake, "events")} == {None} and is_consistent(lake)


def test_a_source_moves_to_the_partition_of_its_day(lake):
    st.to_delta([("a.jsonl", one("a")[:40]), ("b.jsonl", one("b"))], lake)
    assert [row["date"] for row in rows(lake)] == [None, date(2026, 2, 11)]
    st.to_delta([("a.jsonl", one("a", day=12)), ("b.jsonl", one("b", day=13))], lake)
    for table in ("events", "sessions"):
        assert {row["source"]: row["date"].day for row in rows(lake, table)} == {"a.jsonl": 12, "b.jsonl": 13}
    assert is_consistent(lake)
    assert {path.name for path in (lake / "events").iterdir()} >= {"date=2026-02-12", "date=2026-02-13"}


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
@pytest.mark.parametrize("length", [300, 4095, 4096, 4097, 70_000])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_day_is_that_of_the_header_wherever_its_line_ends(tmp_path, mark, length, ending):
    def header(padding):
        return session(start(sessionId="s", startTime="2026-03-05T16:00:00.000Z", title="x" * padding)).decode().rstrip("\n")

    line = mark + header(length - len((mark + header(0)).encode()))
    assert len(line.encode()) == length
    (tmp_path / "s.jsonl").write_text(line + ending + (session(text("human", "hi")).decode() if ending else ""), encoding="utf-8", newline="")
    st.to_delta(tmp_path / "s.jsonl", tmp_path / "lake", ["sessions"])
    assert [row["date"] for row in rows(tmp_path / "lake")] == [date(2026, 3, 5)]


@with_bundles
def test_sessions_and_runs_of_one_name_are_kept_apart(tmp_path, lake):
    folder = tmp_path / "f"
    folder.mkdir()
    (tmp_path / "a.jsonl").write_bytes(talk(1))
    bundle(tmp_path / "a.jsonl", folder / "session.cath-bundle.tar.zst")
    bundle(GOLDEN, folder / "run.cath-bundle.tar.zst")
    st.to_delta(folder, lake)
    before = content(lake, SESSIONS)
    assert len(before["events"]) == len(talk(1).splitlines()) and len(before["sessions"]) == 2
    st.to_delta(folder, lake, RUNS)
    assert content(lake, SESSIONS) == before
    of_runs = content(lake, RUNS)
    assert of_runs["run_events"] and len(of_runs["runs"]) == 2
    for tables in (SESSIONS, RUNS):
        assert st.to_delta(folder, lake, tables).unchanged == 2
    assert sorted(row["kind"] for row in listed(lake)) == ["runs", "runs", "sessions", "sessions"]


def test_a_verified_run_is_verified_again_when_its_blobs_have_changed(tmp_path, lake):
    run = tmp_path / "runs" / "one"
    shutil.copytree(GOLDEN, run)
    for _ in range(2):
        report = st.to_delta(tmp_path / "runs", lake, ["runs"], verify=True)
    assert report.unchanged == 1 and [row["output_hashes_match"] for row in rows(lake, "runs")] == [True]
    for blob in (run / "blobs").rglob("*"):
        if blob.is_file():
            blob.chmod(blob.stat().st_mode | stat.S_IWUSR)
            blob.write_bytes(b"tampered")
    assert st.to_delta(tmp_path / "runs", lake, ["runs"], verify=True).sources == 1
    assert [row["output_hashes_match"] for row in rows(lake, "runs")] == [False]


def test_unreadable_sources_are_written_once(tmp_path, folder, lake):
    (folder / "b.cath-bundle.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd no bundle")
    (folder / "c.jsonl").symlink_to(tmp_path / "nothing")
    (folder / "d.cath-bundle").mkdir()
    (folder / "d.cath-bundle" / "manifest.json").write_text('{"format": "no bundle"}')
    assert st.to_delta(folder, lake).sources == 5
    for found in (rows(lake), rows(lake, "sources")):
        assert [Path(row["source"]).name for row in found if row["error"]] == ["b.cath-bundle.tar.zst", "c.jsonl", "d.cath-bundle"]
    assert st.to_delta(folder, lake).unchanged == 5
    # A source that could not be read is written as soon as it can be.
    (tmp_path / "nothing").write_bytes(one("c"))
    assert st.to_delta(folder, lake).sources == 1 and is_consistent(lake)
    assert ("c.jsonl", "c") in ids(lake)


def test_damaged_runs_are_written_once(tmp_path, lake):
    runs = tmp_path / "runs"
    for name in ("bad", "good"):
        shutil.copytree(GOLDEN, runs / name)
    (runs / "bad" / "events.cath-log").open("a").write("garbage\n")
    (runs / "no.cath-bundle.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd no bundle")
    for _ in range(2):
        report = st.to_delta([runs, runs / "good" / "events.cath-log"], lake, RUNS)
    assert (report.sources, report.unchanged) == (0, 3), "the log is that of a run in the folder"
    assert sorted(row["error"] is None for row in rows(lake, "runs")) == [False, False, True]
    assert [row["error"] for row in listed(lake)] == [row["error"] for row in rows(lake, "runs")]


def test_the_errors_of_sources_are_listed_without_the_table_of_sessions(lake):
    st.to_delta([("a", b"no session"), ("b", one("b"))], lake, ["events"])
    assert [row["error"] for row in listed(lake)] == ["Missing or corrupt session_start event", None]


def test_progress_counts_files_and_bytes(fleet, lake):
    total = (60, sum(path.stat().st_size for path in fleet.rglob("*.jsonl")))
    for expected in (60, 0):
        seen = []
        assert st.to_delta(fleet, lake, on_progress=lambda *done: seen.append(done)).sources == expected
        assert seen[-1] == total and seen == sorted(seen)

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        st.to_delta(fleet, lake.with_name("other"), on_progress=stop)
    assert rows(lake.with_name("other"), "sources") == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_no_recording(tmp_path, lake):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    st.to_delta(pipe, lake)
    assert rows(lake, "events") == [] and is_consistent(lake)


def test_a_lake_that_can_not_be_written_is_an_error_of_the_system(closed):
    folder, forbidden = closed
    (folder / "lake").mkdir()
    with forbidden(folder / "lake"), pytest.raises(OSError):
        st.to_delta([("a", b"x")], folder / "lake")
    (folder / "file").write_bytes(b"")
    with pytest.raises(OSError):
        st.to_delta([("a", b"x")], folder / "file")


def test_a_lake_with_a_damaged_log_is_an_error(folder, lake):
    st.to_delta(folder, lake)
    (lake / "sources" / "_delta_log" / f"{1:020}.json").write_text("{ damaged")
    (folder / "a.jsonl").write_bytes(one("new"))
    before = version(lake, "events")
    with pytest.raises(OSError):
        st.to_delta(folder, lake)
    assert version(lake, "events") == before


#: What quoting could get wrong, and names that stand between others in the order of names.
NAMES = some.text(some.one_of(some.sampled_from("'\"\\\n\r\t%_;-$0aZ{}()äß日🚀"), some.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(some.lists(NAMES, min_size=2, max_size=12, unique=True), some.data())
def test_partition_and_source_names_may_be_any_text(tmp_path_factory, wanted, data):
    lake = tmp_path_factory.mktemp("lake")
    st.to_delta([(name, one("before")) for name in wanted], lake, ["sessions"])
    changed = data.draw(some.lists(some.sampled_from(wanted), unique=True))
    assert st.to_delta([(name, one("after")) for name in changed], lake, ["sessions"]).sources == len(changed)
    expected = {name: "after" if name in changed else "before" for name in wanted}
    assert {row["source"]: row["session_id"] for row in rows(lake)} == expected and len(rows(lake)) == len(wanted)
    forgotten = data.draw(some.sampled_from(wanted))
    st.forget(lake, forgotten)
    assert {row["source"] for row in rows(lake)} == set(wanted) - {forgotten} == {row["source"] for row in rows(lake, "sources")}


def test_replaces_very_many_sources_with_interleaved_names(lake):
    """No range of names has only those that have changed."""
    count = 12_000
    st.to_delta([(f"{number:05}", b"x") for number in range(count)], lake, ["sessions"])
    report = st.to_delta([(f"{number:05}", b"y" * (1 + number % 2)) for number in range(0, count, 2)], lake, ["sessions"])
    assert report.sources == count // 2
    found = rows(lake)
    assert [row["bytes"] for row in found] == [1] * count and [row["source"] for row in found] == [f"{number:05}" for number in range(count)]
    assert st.to_delta([(f"{number:05}", b"x") for number in range(1, count, 2)], lake, ["sessions"]).unchanged == count // 2


def test_missing_deltalake_package_is_an_error_that_says_what_to_install(tmp_path, monkeypatch):
    # What Python does for a package that is not there.
    monkeypatch.setitem(__import__("sys").modules, "deltalake", None)
    for call in (lambda: st.to_delta([], tmp_path / "lake"), lambda: st.forget(tmp_path / "lake", "a")):
        with pytest.raises(ImportError, match=r"pip install 'session-tape\[delta\]'"):
            call()
    assert st.to_parquet([("a", b"x")], tmp_path / "files").sources == 1


def test_storage_arguments_are_validated(tmp_path):
    with pytest.raises(TypeError, match="^storage_options "):
        st.to_delta([], tmp_path / "lake", storage_options={"a": 5})
    st.to_delta([("a", b"x")], (tmp_path / "lake").as_uri(), storage_options={"timeout": "10s"})
    assert names(tmp_path / "lake") == ["a"]

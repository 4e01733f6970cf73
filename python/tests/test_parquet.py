"""The lake: its layout, and that nothing is duplicated or lost when exports are repeated, grow, or are interrupted."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import duckdb
import pyarrow.parquet as pq
import pytest

import session_tape as st
from recordings import session, start, talk, text


def files(lake):
    return {path.relative_to(lake).as_posix(): path.read_bytes() for path in lake.rglob("*") if path.is_file()}


def sources(lake):
    return sorted(source for source, in duckdb.sql(f"select source from '{lake}/sessions/*/*.parquet'").fetchall())


def test_parts_are_by_table_and_day(fleet, tmp_path):
    report = st.to_parquet(fleet, tmp_path)
    assert {path.parent.relative_to(tmp_path).as_posix() for path in report.parts} == {
        f"{table}/date=2026-02-{day}" for table in ("events", "tool_calls", "sessions") for day in (10, 11, 12)
    }
    assert report.sources == 60 and report.rows["sessions"] == 60
    [manifest, *_] = (json.loads(path.read_text()) for path in sorted((tmp_path / "_manifests").glob("*.json")))
    assert set(manifest) == {"version", "options", "sources", "rows", "parts"}
    assert not (tmp_path / "_temporary").exists()


def test_how_a_file_is_laid_out(tmp_path):
    many = [("s.jsonl", session(start(), *[text("ai", f"x{at}") for at in range(40_000)]))]
    report = st.to_parquet(many, tmp_path, ["events"])
    metadata = pq.ParquetFile(report.parts[0]).metadata
    assert [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)] == [16_384, 16_384, 7_233]
    for at in range(metadata.num_columns):
        column = metadata.row_group(0).column(at)
        assert column.compression == "ZSTD" and column.has_offset_index and column.has_column_index, column.path_in_schema
        assert column.is_stats_set
    schema = pq.read_schema(report.parts[0])
    assert schema.equals(st.schema("events"), check_metadata=True)
    filtered = duckdb.sql(
        f"select distinct column_name from (select path_in_schema column_name, bloom_filter_offset from parquet_metadata('{report.parts[0]}')) where bloom_filter_offset is not null"
    ).fetchall()
    assert {name for name, in filtered} == {"session_id", "tool_call_id"}


@pytest.mark.parametrize("table", ["events", "tool_calls", "sessions"])
def test_files_have_the_rows_of_the_stream(fleet, tmp_path, table):
    report = st.to_parquet(fleet, tmp_path, [table], include_payload=True)
    streamed = st.table(fleet, table, include_payload=True).read_all()
    import pyarrow as pa

    written = pa.concat_tables([pq.ParquetFile(path).read() for path in report.parts], promote_options="permissive")
    order = [("source", "ascending")] + [("line", "ascending")] * (table == "events") + [("called_line", "ascending")] * (table == "tool_calls")
    assert written.sort_by(order).to_pylist() == streamed.sort_by(order).to_pylist()


def test_an_export_that_is_repeated_changes_nothing(fleet, tmp_path):
    st.to_parquet(fleet, tmp_path)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.rglob("*.*")}
    again = st.to_parquet(fleet, tmp_path)
    assert (again.sources, again.unchanged, again.parts) == (0, 60, [])
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.rglob("*.*")} == before
    elsewhere = tmp_path / "elsewhere"
    st.to_parquet(fleet, elsewhere)
    assert set(files(elsewhere)) == {name for name in files(tmp_path) if not name.startswith("elsewhere")}


def test_a_session_that_has_grown_replaces_its_part(tmp_path):
    recordings, lake = tmp_path / "recordings", tmp_path / "lake"
    recordings.mkdir()
    for number in range(5):
        (recordings / f"{number}.jsonl").write_bytes(talk(number))
    first = st.to_parquet(recordings, lake)
    with (recordings / "3.jsonl").open("ab") as file:
        file.write(session(text("human", "one more")))
    (recordings / "5.jsonl").write_bytes(talk(5))
    second = st.to_parquet(recordings, lake, prune=True)
    assert (second.sources, second.pruned) == (6, 3)
    assert not any(path.exists() for path in first.parts)
    assert sources(lake) == sorted(str(path) for path in recordings.iterdir())
    [(count,)] = duckdb.sql(f"select count(*) from '{lake}/events/*/*.parquet' where text = 'one more'").fetchall()
    assert count == 1


def test_the_rows_of_sources_that_are_gone_stay(tmp_path):
    lake = tmp_path / "lake"
    st.to_parquet([(f"{number}.jsonl", talk(number)) for number in range(4)], lake)
    st.to_parquet([("1.jsonl", talk(1) + session(text("human", "more"))), ("9.jsonl", talk(9))], lake, prune=True)
    assert sources(lake) == ["0.jsonl", "1.jsonl", "2.jsonl", "3.jsonl", "9.jsonl"]
    [(count,)] = duckdb.sql(f"select count(*) from '{lake}/events/*/*.parquet' where source = '2.jsonl'").fetchall()
    assert count == len(talk(2).splitlines())


def test_other_tables_and_options_are_added(fleet, tmp_path):
    st.to_parquet(fleet, tmp_path, ["events"])
    st.to_parquet(fleet, tmp_path, ["sessions"], prune=True)
    assert duckdb.sql(f"select count(distinct source) from '{tmp_path}/events/*/*.parquet'").fetchall()[0] == (60,)
    assert len(sources(tmp_path)) == 60
    assert st.to_parquet(fleet, tmp_path, ["events"], text_limit=5, prune=True).sources == 60
    assert duckdb.sql(f"select max(strlen(text)) from '{tmp_path}/events/*/*.parquet'").fetchall() == [(5,)]


def test_a_session_without_a_date_has_a_partition(tmp_path):
    st.to_parquet([("bad.jsonl", b"no session"), ("empty.jsonl", b"")], tmp_path)
    found = duckdb.sql(f"select source, date, error from read_parquet('{tmp_path}/sessions/*/*.parquet', hive_partitioning=true) order by 1").fetchall()
    assert [(source, error) for source, _, error in found] == [
        ("bad.jsonl", "Missing or corrupt session_start event"),
        ("empty.jsonl", "Empty file"),
    ]
    assert {date for _, date, _ in found} == {None}


EXPORT = "import sys, session_tape as st; st.to_parquet(sys.argv[1], sys.argv[2])"


def test_an_export_that_is_killed_is_completed_by_the_next(tmp_path):
    recordings, lake = tmp_path / "recordings", tmp_path / "lake"
    recordings.mkdir()
    for number in range(2500):
        (recordings / f"{number}.jsonl").write_bytes(talk(number, turns=30, day=1 + number % 28))
    process = subprocess.Popen([sys.executable, "-c", EXPORT, recordings, lake])
    while not list(lake.glob("_manifests/*.json")) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    listed = len(list(lake.glob("_manifests/*.json")))
    assert listed > 0
    report = st.to_parquet(recordings, lake, prune=True)
    assert report.sources + report.unchanged == 2500
    st.to_parquet(recordings, tmp_path / "undisturbed")
    if listed < len(list(tmp_path.glob("undisturbed/_manifests/*.json"))):
        assert report.sources > 0
    undisturbed = files(tmp_path / "undisturbed")
    assert files(lake) == undisturbed


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_an_interrupted_export_leaves_no_half_file(tmp_path):
    recordings, lake = tmp_path / "recordings", tmp_path / "lake"
    recordings.mkdir()
    for number in range(2500):
        (recordings / f"{number}.jsonl").write_bytes(talk(number, turns=30, day=1 + number % 28))
    command = [sys.executable, "-m", "session_tape", "export", recordings, lake]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    while not list(lake.glob("_temporary/*")) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("the export was over before it could be interrupted")
    assert process.returncode == 130 and said.startswith(b"interrupted")
    assert not list(lake.rglob("*.tmp"))
    for path in lake.rglob("*.parquet"):
        pq.ParquetFile(path).read()


def test_progress_counts_files_and_bytes(fleet, tmp_path):
    seen = []
    st.to_parquet(fleet, tmp_path, on_progress=lambda *done: seen.append(done))
    assert seen[-1] == (60, sum(path.stat().st_size for path in fleet.rglob("*.jsonl")))
    assert seen == sorted(seen)
    seen.clear()
    st.events(fleet, on_progress=lambda *done: seen.append(done)).read_all()
    assert seen[-1][0] == 60

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        st.to_parquet(fleet, tmp_path / "other", on_progress=stop)
    assert not list((tmp_path / "other").rglob("*.tmp"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_a_pipe_gives_is_exported(tmp_path):
    pipe, lake = tmp_path / "pipe.jsonl", tmp_path / "lake"
    os.mkfifo(pipe)
    for number in (1, 1, 2):
        writer = threading.Thread(target=lambda: pipe.write_bytes(talk(number)), daemon=True)
        writer.start()
        report = st.to_parquet(pipe, lake, prune=True)
        writer.join()
    assert report.sources == 1
    [part] = (lake / "events").rglob("*.parquet")
    assert part.parent.name == "date=2026-02-11"
    table = pq.ParquetFile(part).read()
    assert table.num_rows == len(talk(2).splitlines()) and set(table["session_id"].to_pylist()) == {"session-2"}

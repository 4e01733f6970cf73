"""Plain Parquet files."""

import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import session_tape as st
from recordings import session, start, talk, text
from test_delta import GOLDEN, RUNS, SESSIONS

BY_DATE = ds.partitioning(pa.schema([("date", pa.date32())]), flavor="hive")


def read(folder, table):
    return ds.dataset(folder / table, partitioning=BY_DATE).to_table()


def test_files_are_partitioned_by_table_and_day(fleet, tmp_path):
    report = st.to_parquet(fleet, tmp_path)
    assert {path.parent.relative_to(tmp_path).as_posix() for path in report.files} == {
        f"{table}/date=2026-02-{day}" for table in SESSIONS for day in (10, 11, 12)
    }
    assert set(report.files) == {path for path in tmp_path.rglob("*") if path.is_file()}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(SESSIONS)
    assert report.sources == 60 and report.rows["sessions"] == 60 and report.versions == {}


@pytest.mark.parametrize("table", SESSIONS)
def test_files_have_the_rows_of_the_stream(fleet, tmp_path, table):
    st.to_parquet(fleet, tmp_path, [table], include_payload=True)
    written, streamed = read(tmp_path, table), st.table(fleet, table, include_payload=True).read_all()
    assert written.schema.equals(st.schema(table, include_payload=True).remove_metadata())
    order = [("source", "ascending")] + [("line", "ascending")] * (table == "events") + [("called_line", "ascending")] * (table == "tool_calls")
    plain = streamed.cast(pa.schema([field for field in written.schema if field.name != "date"]))
    assert written.drop_columns("date").sort_by(order).to_pylist() == plain.sort_by(order).to_pylist()


def test_files_have_large_row_groups_and_zstd(tmp_path):
    many = [("s.jsonl", session(start(), *[text("ai", f"x{at}") for at in range(40_000)]))]
    [file] = st.to_parquet(many, tmp_path, ["events"]).files
    metadata = pq.ParquetFile(file).metadata
    groups = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    assert sum(groups) == 40_001 and len(groups) == 3 and min(groups[:-1]) >= 16_384
    assert {metadata.row_group(0).column(at).compression for at in range(metadata.num_columns)} == {"ZSTD"}
    assert metadata.metadata[b"schema_version"] == b"3" and metadata.metadata[b"session_tape_version"] == st.__version__.encode()


def test_files_are_added_to_a_directory_only_on_request(fleet, tmp_path):
    st.to_parquet([("a.jsonl", talk(1))], tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    with pytest.raises(FileExistsError) as found:
        st.to_parquet(fleet, tmp_path)
    assert found.value.filename == str(tmp_path / "events")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    report = st.to_parquet(fleet, tmp_path, append=True)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == {*before, *report.files}
    assert all(path.read_bytes() == content for path, content in before.items())
    assert read(tmp_path, "sessions").num_rows == 61
    # Other tables, and empty folders, are no tables that exist.
    (tmp_path / "runs").mkdir()
    assert st.to_parquet(GOLDEN, tmp_path, RUNS).rows["runs"] == 1


def test_a_session_without_a_date_has_a_partition(tmp_path):
    report = st.to_parquet([("bad.jsonl", b"no session"), ("empty.jsonl", b"")], tmp_path)
    assert {path.parent.name for path in report.files} == {"date=__HIVE_DEFAULT_PARTITION__"}
    found = read(tmp_path, "sessions")
    assert found["date"].to_pylist() == [None, None]
    assert sorted(found["error"].to_pylist()) == ["Empty file", "Missing or corrupt session_start event"]


def test_progress_counts_files_and_bytes(fleet, tmp_path):
    seen = []
    st.to_parquet(fleet, tmp_path, on_progress=lambda *done: seen.append(done))
    assert seen[-1] == (60, sum(path.stat().st_size for path in fleet.rglob("*.jsonl"))) and seen == sorted(seen)

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        st.to_parquet(fleet, tmp_path / "other", on_progress=stop)
    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_export_leaves_no_half_table(tmp_path, how):
    recordings, to = tmp_path / "recordings", tmp_path / "files"
    recordings.mkdir()
    for number in range(600):
        (recordings / f"{number}.jsonl").write_bytes(talk(number, turns=30, day=1 + number % 28))
    code = "import signal, sys, session_tape as st; signal.signal(signal.SIGINT, signal.default_int_handler); st.to_parquet(*sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", code, recordings, to], stderr=subprocess.DEVNULL)
    while not list(to.glob(".*/events/*")) and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(how)
    assert process.wait(timeout=60) != 0
    left = [path.name for path in to.iterdir()]
    assert left == [] if how == signal.SIGINT else all(name.startswith(".session-tape-") for name in left)
    assert st.to_parquet(recordings, to).sources == 600 and read(to, "sessions").num_rows == 600


def test_a_disk_that_is_full_is_an_error_that_leaves_nothing(tmp_path):
    resource = pytest.importorskip("resource", reason="the limit of a file's size is that of POSIX")
    many = [("a", session(start(), *[text("human", os.urandom(3000).hex()) for _ in range(100)]))]
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        for write in (st.to_parquet, st.to_delta):
            with pytest.raises(OSError):
                write(many, tmp_path / write.__name__)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list((tmp_path / "to_parquet").iterdir()) == []
    for write in (st.to_parquet, st.to_delta):
        assert write(many, tmp_path / write.__name__).sources == 1

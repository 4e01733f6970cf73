"""What a lake keeps when its sources change, are of both kinds, are damaged or are gone."""

import errno
import random
import shutil
import signal
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import session_tape as st
from recordings import session, start, talk, text
from test_bundles import bundle, pytestmark as with_bundles

GOLDEN = Path(__file__).parents[2] / "__test__/fixtures/run/v1/golden"
RUNS = ("run_events", "runs")


def rows(lake, table):
    """The rows of a table, each with its partition."""
    found = []
    for path in sorted(Path(lake, table).glob("*/*.parquet")):
        day = path.parent.name.removeprefix("date=")
        found += [{**row, "day": day} for row in pq.ParquetFile(path).read().to_pylist()]
    return found


def days(lake):
    found = sorted((Path(row["source"]).name, row["day"]) for row in rows(lake, "sessions"))
    by_events = {(Path(row["source"]).name, row["day"]) for row in rows(lake, "events")}
    assert sorted(by_events) == found
    return found


def one(day, *records):
    return session(start(sessionId="s", startTime=f"2026-{day}T16:00:00.000Z"), text("human", "hi"), *records)


def written(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.jsonl").write_bytes(content)
    return folder


@with_bundles
def test_sessions_and_runs_are_exported_to_one_lake(tmp_path):
    folder, lake = tmp_path / "f", tmp_path / "lake"
    folder.mkdir()
    bundle(written(tmp_path / "s", a=talk(1)) / "a.jsonl", folder / "session.cath-bundle.tar.zst")
    bundle(GOLDEN, folder / "run.cath-bundle.tar.zst")
    st.to_parquet(folder, lake)
    before = rows(lake, "events"), rows(lake, "sessions")
    assert len(before[0]) == len(talk(1).splitlines()) and len(before[1]) == 2
    st.to_parquet(folder, lake, RUNS, prune=True)
    assert (rows(lake, "events"), rows(lake, "sessions")) == before
    of_runs = rows(lake, "run_events"), rows(lake, "runs")
    assert of_runs[0] and len(of_runs[1]) == 2
    for tables in (("events", "tool_calls", "sessions"), RUNS):
        again = st.to_parquet(folder, lake, tables, prune=True)
        assert (again.sources, again.unchanged, again.pruned) == (0, 2, 0), tables
    assert (rows(lake, "events"), rows(lake, "sessions")) == before
    assert (rows(lake, "run_events"), rows(lake, "runs")) == of_runs


def test_a_column_is_added_or_left_out_though_a_source_is_gone(tmp_path):
    folder, lake = written(tmp_path / "f", a=one("02-11"), b=one("02-11")), tmp_path / "lake"
    st.to_parquet(folder, lake)
    (folder / "a.jsonl").unlink()
    st.to_parquet(folder, lake, include_payload=True, prune=True)
    payloads = {}
    for row in rows(lake, "events"):
        payloads.setdefault(Path(row["source"]).name, []).append(row["payload"] is None)
    assert payloads == {"a.jsonl": [True, True], "b.jsonl": [False, False]}
    (folder / "b.jsonl").write_bytes(one("02-11", text("ai", "more")))
    st.to_parquet(folder, lake, prune=True)
    left = rows(lake, "events")
    assert len(left) == 5 and not any("payload" in row for row in left)


def test_a_lost_part_is_written_again_without_sources_that_are_gone(tmp_path):
    folder, lake = written(tmp_path / "f", a=one("02-11"), b=one("02-11")), tmp_path / "lake"
    report = st.to_parquet(folder, lake)
    (folder / "a.jsonl").unlink()
    [part] = (path for path in report.parts if path.parts[-3] == "events")
    part.unlink()
    st.to_parquet(folder, lake, prune=True)
    assert {Path(row["source"]).name for row in rows(lake, "events")} == {"b.jsonl"}
    # Its rows in the other parts stay.
    assert [Path(row["source"]).name for row in rows(lake, "sessions")] == ["a.jsonl", "b.jsonl"]
    assert st.to_parquet(folder, lake).unchanged == 1
    shutil.rmtree(lake / "events"), shutil.rmtree(lake / "tool_calls"), shutil.rmtree(lake / "sessions")
    st.to_parquet(folder, lake)
    assert [Path(row["source"]).name for row in rows(lake, "sessions")] == ["b.jsonl"]
    assert st.to_parquet(folder, lake).unchanged == 1


def test_each_recording_is_in_the_partition_of_its_own_day(tmp_path):
    folder, lake = written(tmp_path / "f", a=one("02-11"), b=one("02-11"), c=one("02-11")), tmp_path / "lake"
    st.to_parquet(folder, lake)
    (folder / "c.jsonl").unlink()
    written(folder, a=one("03-01"))
    # The source that has not changed need not be passed.
    st.to_parquet(folder / "a.jsonl", lake, prune=True)
    assert days(lake) == [("a.jsonl", "2026-03-01"), ("b.jsonl", "2026-02-11"), ("c.jsonl", "2026-02-11")]
    assert st.to_parquet(folder, lake).unchanged == 2
    written(folder, a=one("03-02"), b=one("03-02"))
    st.to_parquet(folder, lake, prune=True)
    assert days(lake) == [("a.jsonl", "2026-03-02"), ("b.jsonl", "2026-03-02"), ("c.jsonl", "2026-02-11")]
    assert st.to_parquet(folder, lake, prune=True).unchanged == 2
    assert len({row["source"] for row in rows(lake, "sessions")}) == len(rows(lake, "sessions"))


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
@pytest.mark.parametrize("length", [300, 4094, 4095, 4096, 4097, 8192, 70_000])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_day_is_that_of_the_header_wherever_its_line_ends(tmp_path, mark, length, ending):
    def header(padding):
        return session(start(sessionId="s", startTime="2026-03-05T16:00:00.000Z", title="x" * padding)).decode().rstrip("\n")

    line = mark + header(length - len((mark + header(0)).encode()))
    assert len(line.encode()) == length
    rest = session(text("human", "hi")).decode() if ending else ""
    (tmp_path / "s.jsonl").write_text(line + ending + rest, encoding="utf-8", newline="")
    for again in range(2):
        st.to_parquet(tmp_path / "s.jsonl", tmp_path / "lake")
        assert days(tmp_path / "lake") == [("s.jsonl", "2026-03-05")]


def test_a_session_whose_first_line_is_complete_later_gets_its_day(tmp_path):
    whole = one("02-11")
    folder, lake = written(tmp_path / "f", a=b"torn", b=whole[:40]), tmp_path / "lake"
    st.to_parquet(folder, lake)
    assert {day for _, day in days(lake)} == {"__HIVE_DEFAULT_PARTITION__"}
    written(folder, b=whole)
    st.to_parquet(folder, lake, prune=True)
    assert days(lake) == [("a.jsonl", "__HIVE_DEFAULT_PARTITION__"), ("b.jsonl", "2026-02-11")]
    written(folder, a=whole)
    st.to_parquet(folder, lake, prune=True)
    assert days(lake) == [("a.jsonl", "2026-02-11"), ("b.jsonl", "2026-02-11")]


def test_a_verified_run_is_verified_again_when_its_blobs_have_changed(tmp_path):
    lake, run = tmp_path / "lake", tmp_path / "runs" / "one"
    shutil.copytree(GOLDEN, run)
    st.to_parquet(tmp_path / "runs", lake, ["runs"], verify=True)
    assert [row["output_hashes_match"] for row in rows(lake, "runs")] == [True]
    assert st.to_parquet(tmp_path / "runs", lake, ["runs"], verify=True).unchanged == 1
    for blob in (run / "blobs").rglob("*"):
        if blob.is_file():
            blob.chmod(blob.stat().st_mode | stat.S_IWUSR)
            blob.write_bytes(b"tampered")
    [expected] = st.table(run, "runs", verify=True).read_all().to_pylist()
    assert expected["output_hashes_match"] is False
    assert st.to_parquet(tmp_path / "runs", lake, ["runs"], verify=True, prune=True).sources == 1
    assert [row["output_hashes_match"] for row in rows(lake, "runs")] == [False]
    assert st.to_parquet(tmp_path / "runs", lake, ["runs"], verify=True).unchanged == 1


def test_hashes_are_compressed_as_all_columns(tmp_path):
    """Hashes that repeat in a different order each time: zstd finds fewer of the repetitions at level 1 than at level 3."""
    lines, shuffled = [b"line %d\n" % number for number in range(2048)], random.Random(1)
    content = b"".join(b"".join(shuffled.sample(lines, len(lines))) for _ in range(8))
    [part] = st.to_parquet([("s.jsonl", content)], tmp_path, ["events"]).parts
    file = pq.ParquetFile(part)
    column = file.metadata.row_group(0).column(file.schema_arrow.names.index("line_sha256"))
    plain = b"".join(file.read(["line_sha256"])["line_sha256"].to_pylist())
    at_level = {level: len(pa.Codec("zstd", compression_level=level).compress(plain)) for level in (1, 3)}
    assert at_level[3] < 0.9 * at_level[1]
    assert abs(column.total_compressed_size - at_level[3]) < abs(column.total_compressed_size - at_level[1])


def test_what_can_not_be_read_is_exported_once(tmp_path):
    folder, lake = written(tmp_path / "f", a=one("02-11")), tmp_path / "lake"
    (folder / "b.cath-bundle.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd no bundle")
    (folder / "c.jsonl").symlink_to(tmp_path / "nothing")
    (folder / "d.cath-bundle").mkdir()
    (folder / "d.cath-bundle" / "manifest.json").write_text('{"format": "no bundle"}')
    assert st.to_parquet(folder, lake).sources == 4
    errors = [row["error"] for row in rows(lake, "sessions")]
    assert errors.count(None) == 1 and len(errors) == 4
    again = st.to_parquet(folder, lake)
    assert (again.sources, again.unchanged) == (0, 4)
    # A source that could not be read is exported as soon as it can be.
    (tmp_path / "nothing").write_bytes(one("02-11"))
    st.to_parquet(folder, lake, prune=True)
    assert [row["error"] for row in rows(lake, "sessions")].count(None) == 2
    assert st.to_parquet(folder, lake).unchanged == 4


def test_damaged_runs_are_exported_once(tmp_path):
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    for name in ("bad", "good"):
        shutil.copytree(GOLDEN, runs / name)
    (runs / "bad" / "events.cath-log").open("a").write("garbage\n")
    (runs / "no.cath-bundle.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd no bundle")
    for _ in range(2):
        report = st.to_parquet([runs, runs / "good" / "events.cath-log"], lake, RUNS)
    assert (report.sources, report.unchanged) == (0, 3), "the log is that of a run in the folder"
    assert sorted(row["error"] is None for row in rows(lake, "runs")) == [False, False, True]


def test_progress_of_an_export_that_changes_nothing_counts_all(fleet, tmp_path):
    st.to_parquet(fleet, tmp_path)
    seen = []
    st.to_parquet(fleet, tmp_path, on_progress=lambda *done: seen.append(done))
    assert seen[-1] == (60, sum(path.stat().st_size for path in fleet.rglob("*.jsonl")))


def test_a_lake_without_dates_is_opened_with_the_type_of_its_partitions(tmp_path):
    st.to_parquet([("bad.jsonl", b"no session")], tmp_path)
    by_date = ds.partitioning(pa.schema([("date", pa.date32())]), flavor="hive")
    table = pq.read_table(tmp_path / "sessions", partitioning=by_date)
    assert table["date"].to_pylist() == [None] and table["error"].to_pylist() != [None]


def test_a_lake_that_can_not_be_written_is_an_error_of_the_system(closed):
    folder, forbidden = closed
    lake, file = folder / "lake", folder / "file"
    lake.mkdir()
    file.write_bytes(b"")
    for dest in (lake, lake / "inner"):
        with forbidden(lake), pytest.raises(PermissionError) as found:
            st.to_parquet([("a", b"x")], dest)
        assert found.value.errno == errno.EACCES and found.value.filename.startswith(str(lake))
    with pytest.raises(FileExistsError) as found:
        st.to_parquet([("a", b"x")], file)
    assert (found.value.errno, found.value.filename) == (errno.EEXIST, str(file))
    with pytest.raises(NotADirectoryError):
        st.to_parquet([("a", b"x")], file / "lake")


def test_an_export_that_does_not_fit_names_the_lake_and_leaves_nothing(tmp_path):
    resource = pytest.importorskip("resource", reason="the limit of a file's size is that of POSIX")
    noise = [text("human", random.Random(at).randbytes(3000).hex()) for at in range(100)]  # Less than is kept in a temporary file.
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OSError) as found:
            st.to_parquet([("a", session(start(), *noise))], tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (found.value.errno, found.value.filename) == (errno.EFBIG, str(tmp_path))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [".lock"]
    assert st.to_parquet([("a", session(start(), *noise))], tmp_path).sources == 1

"""Recordings in bundles, which the command line of the npm package creates."""

import io
import json
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import session_tape as st
from foreign import fixture
from recordings import talk

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "__test__/fixtures/run/v1/golden"
FORMS = ["recording.cath-bundle", "recording.cath-bundle.tar.zst"]

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not list(ROOT.glob("*.node")),
    reason="the addon of the npm package, which makes bundles, is not built here",
)


def bundle(source, to, *options):
    command = ["node", ROOT / "packages/cli/main.js", "bundle", "export", source, to, *options]
    subprocess.run(command, check=True, capture_output=True)
    return to


def recorded(folder, events, message):
    """A run with this many events, whose messages have this length."""
    script = """
        const { RunRecorder } = require(process.argv[1]);
        const [directory, events, length] = process.argv.slice(2);
        const recorder = new RunRecorder({
            directory, runId: "r", scheduler: "round-robin",
            workflow: { name: "w", version: "1", nodes: [{ id: "a", kind: "task" }] },
        });
        const message = "m".repeat(Number(length));
        (async () => {
            for (let at = 0; at < Number(events); at++) {
                recorder.append({ kind: "Error", payload: { code: "E", message: at + message, recoverable: true } });
                if (at % 10000 === 0) await recorder.flush();
            }
            await recorder.dispose();
        })();
    """
    command = ["node", "-e", script, ROOT / "index.js", folder, str(events), str(message)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


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


@pytest.mark.parametrize("form", FORMS)
def test_a_bundle_of_a_session_of_another_program_has_the_rows_of_what_it_became(tmp_path, form):
    source = fixture("made/claude-mixed.jsonl")
    packed = bundle(source, tmp_path / form)
    table = st.events(packed).read_all()
    assert st.verify_rows(table).to_pylist() == [True] * len(table), "in the native session that it contains"
    assert set(table["source_format"].to_pylist()) == {"native"}
    assert table["line"].to_pylist() == list(range(1, len(table) + 1))
    left_out = ("source", "source_format", "line", "byte_offset", "byte_length", "line_sha256")
    assert without(table.to_pylist(), *left_out) == without(st.events(source).read_all().to_pylist(), *left_out)


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
    assert st.to_delta(packed, tmp_path / "lake").rows["events"] == len(expected)
    assert st.to_delta(packed, tmp_path / "lake").unchanged == 1
    assert [path.parent.name for path in (tmp_path / "lake" / "events").rglob("*.parquet")] == ["date=2026-02-11"]
    [row] = st.table([(name, content[:-40])], "sessions").read_all().to_pylist()
    assert row["error"] and row["lines"] == 0 and row["bytes"] == len(content) - 40


def test_a_large_session_in_a_bundle_is_read_part_by_part(tmp_path):
    session = tmp_path / "session.jsonl"
    start, _, rest = talk(1, turns=1000).partition(b"\n")
    session.write_bytes(start + b"\n" + rest * 4)
    packed, size = bundle(session, tmp_path / FORMS[0]), session.stat().st_size
    assert size > 12 << 20
    for table in ("events", "tool_calls"):
        done = []
        reader = st.table(packed, table, on_progress=lambda _, read: done.append(read))
        first = reader.read_next_batch()
        # Calls wait for their answers.
        assert 0 < done[-1] < size or table == "tool_calls", "the first rows come before all is read"
        left = pa.Table.from_batches([first, *reader]).drop_columns("source")
        assert left.equals(st.table(session, table).read_all().drop_columns("source")) and done[-1] == size
    rows = [st.table(path, "sessions").read_all().to_pylist() for path in (session, packed)]
    assert without(rows[0], "source") == without(rows[1], "source")
    report = st.to_delta(packed, tmp_path / "lake")
    assert (report.rows["events"], report.bytes) == (session.read_bytes().count(b"\n"), size)
    assert st.to_delta(packed, tmp_path / "lake").unchanged == 1


@pytest.mark.parametrize("form", ["run", *FORMS])
def test_a_large_run_is_given_batch_by_batch(tmp_path, form):
    run = recorded(tmp_path / "run", events=40_000, message=200)
    packed, size = run if form == "run" else bundle(run, tmp_path / form), (run / "events.cath-log").stat().st_size
    assert size > 12 << 20
    done = []
    reader = st.events([packed, GOLDEN], kind="runs", on_progress=lambda *now: done.append(now))
    first = reader.read_next_batch()
    assert done[-1][1] < size, "the first rows come before all is read"
    rows = pa.Table.from_batches([first, *reader])
    assert rows["time"].to_pylist()[:40_001] == list(range(40_001))
    assert rows.filter(pc.equal(rows["source"], str(GOLDEN))).drop_columns("source").equals(
        st.events(GOLDEN, kind="runs").read_all().drop_columns("source"))  # fmt: skip
    assert done == sorted(done) and done[-1] == (2, size + (GOLDEN / "events.cath-log").stat().st_size)


def test_a_reader_of_a_run_may_be_dropped(tmp_path):
    run = recorded(tmp_path / "run", events=40_000, message=200)
    reader = st.events(run, kind="runs")
    assert reader.read_next_batch().num_rows > 0
    del reader
    assert st.events(run, kind="runs").read_all().num_rows == 40_001


@pytest.mark.parametrize("form", ["session", "run", *FORMS])
def test_an_export_reports_the_bytes_of_a_recording_as_they_are_read(tmp_path, form):
    """For a session, which several threads read, a run, which one thread reads, and a session in a bundle."""
    if form == "run":
        recording = recorded(tmp_path / "run", events=150_000, message=200)
        tables, log = ("run_events", "runs"), recording / "events.cath-log"
    else:
        log = tmp_path / "session.jsonl"
        first, _, rest = talk(1, turns=1000).partition(b"\n")
        log.write_bytes(first + b"\n" + rest * 20)
        recording = log if form == "session" else bundle(log, tmp_path / form)
        tables = ("events", "tool_calls", "sessions")
    done, size = [], log.stat().st_size
    report = st.to_delta(recording, tmp_path / "lake", tables, on_progress=lambda *now: done.append(now))
    assert report.bytes == size and done == sorted(done) and done[-1] == (1, size)
    between = {read for files, read in done if files == 0 and 0 < read < size}
    assert len(between) > 1


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
    report = st.to_delta(folder, tmp_path / "lake")
    assert report.sources == 2 and report.rows["sessions"] == 2
    assert st.to_delta(folder, tmp_path / "lake").unchanged == 2


def test_listed_recordings_are_those_in_the_tables(tmp_path):
    session = tmp_path / "session.jsonl"
    session.write_bytes(talk(2))
    (tmp_path / "bundles").mkdir()
    for form in FORMS:
        bundle(session, tmp_path / "bundles" / form)
    shutil.copytree(GOLDEN, tmp_path / "runs" / "golden")
    for kind, table in [("sessions", "sessions"), ("runs", "runs")]:
        found = st.recordings(tmp_path, kind)
        assert found == st.table(tmp_path, table).read_all()["source"].to_pylist()
        assert st.table(found, table).read_all().equals(st.table(tmp_path, table).read_all())
    assert len(st.recordings(tmp_path)) == 3
    with pytest.raises(ValueError, match="kind"):
        st.recordings(tmp_path, "all")


def test_a_damaged_bundle_is_a_row_with_its_error(tmp_path):
    session = tmp_path / "session.jsonl"
    session.write_bytes(talk(3))
    packed = bundle(session, tmp_path / FORMS[1])
    packed.write_bytes(packed.read_bytes()[:-40])
    [row] = st.table(packed, "sessions").read_all().to_pylist()
    assert row["error"] and row["lines"] == 0
    assert st.events(packed).read_all().num_rows == 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("snapshot", ["snap_45", "snap_266"])
def test_a_partial_bundle_has_the_verdicts_of_verify_run(tmp_path, form, snapshot):
    packed = bundle(GOLDEN, tmp_path / form, "--from-snapshot", snapshot)
    script = "require(process.argv[1]).verifyRun(process.argv[2]).then((found) => console.log(JSON.stringify(found)))"
    found = subprocess.run(["node", "-e", script, ROOT / "index.js", packed], check=True, capture_output=True).stdout
    found = json.loads(found)
    [row] = st.table(packed, "runs", verify=True).read_all().to_pylist()
    assert (row["error"], row["failed"], row["first_failure"]) == (None, 0, None)
    flags = {"dag_match": "dagMatch", "schedule_match": "scheduleMatch", "state_hashes_match": "stateHashesMatch", "output_hashes_match": "outputHashesMatch"}
    assert {name: row[name] for name in flags} == {name: found[of] for name, of in flags.items()}
    assert row["checked"] > 0 and row["unverifiable"] > 0


def test_a_partial_bundle_has_no_steps(tmp_path):
    packed = bundle(GOLDEN, tmp_path / FORMS[0], "--from-snapshot", "snap_45")
    rows = st.events([GOLDEN, packed], kind="runs").read_all().to_pylist()
    whole, part = ([row for row in rows if row["source"] == str(source)] for source in (GOLDEN, packed))
    assert part and [row["time"] for row in part] == [row["time"] for row in whole if row["time"] > 45]
    assert any(row["step"] is not None for row in whole)
    assert {(row["step"], row["step_key"], row["prefix_hash"]) for row in part} == {(None, None, None)}
    assert st.first_divergence(GOLDEN, packed) is None

"""The tables of runs, for the golden run in the fixtures of the project."""

import hashlib
import io
import json
import shutil
from pathlib import Path

import duckdb
import pytest

import session_tape as st

GOLDEN = Path(__file__).parents[2] / "__test__/fixtures/run/v1/golden"


@pytest.fixture(scope="module")
def logged():
    return [json.loads(line) for line in (GOLDEN / "events.cath-log").read_text().splitlines()]


def test_each_event_is_a_row(logged):
    rows = st.events(GOLDEN, kind="runs").read_all().to_pylist()
    log = (GOLDEN / "events.cath-log").read_bytes()
    assert len(rows) == len(logged)
    for row, event in zip(rows, logged):
        assert (row["time"], row["event_id"]) == (event["time"], f"evt_{event['time']}")
        assert (row["parent"], row["kind"], row["node"]) == (event["parent"], event["kind"], event["node"])
        for column, name in [("task", "task"), ("worker", "worker"), ("tool", "tool"), ("call", "call"), ("raw_hash", "rawHash"),
                             ("input_hash", "inputHash"), ("request_hash", "requestHash"), ("output_hash", "outputHash")]:  # fmt: skip
            assert row[column] == event["payload"].get(name), column
        assert row["line_hash"].hex() == event["hash"]
        line = log[row["byte_offset"] :][: row["byte_length"]]
        assert json.loads(line) == event
    left_out = {"SnapshotCreated", "SnapshotRestored", "BlobStored", "Heartbeat"}
    assert [row["step"] is None for row in rows] == [event["kind"] in left_out for event in logged]
    steps = [row["step"] for row in rows if row["step"] is not None]
    assert steps == list(range(len(steps)))


def test_a_run_has_its_verdicts(logged):
    [row] = st.table(GOLDEN, "runs", verify=True).read_all().to_pylist()
    assert row["run_id"] == logged[0]["payload"]["runId"]
    assert (row["events"], row["head_hash"].hex(), row["error"]) == (len(logged), logged[-1]["hash"], None)
    assert row["file_sha256"] == hashlib.sha256((GOLDEN / "events.cath-log").read_bytes()).digest()
    assert [row[f"{flag}_match"] for flag in ("dag", "schedule", "state_hashes", "output_hashes")] == [True] * 4
    assert (row["failed"], row["first_failure"]) == (0, None) and row["checked"] > len(logged)
    [unverified] = st.table(GOLDEN, "runs").read_all().to_pylist()
    assert unverified["dag_match"] is None and unverified["checked"] is None


def test_a_log_is_verified_whatever_its_name_is(tmp_path):
    log = (GOLDEN / "events.cath-log").read_bytes()
    other = tmp_path / "other.cath-log"
    other.write_bytes(log)
    shutil.copy(GOLDEN / "events.cath-log", tmp_path / "events.cath-log")
    table = st.table([tmp_path / "events.cath-log", other, ("given", log)], "runs", verify=True)
    wanted, *rows = table.read_all().to_pylist()
    assert wanted["error"] is None and wanted["unverifiable"] > 2 * 268, "it is a run without its graph"
    assert wanted.pop("first_failure") == f"ENOENT: no such file or directory, open '{tmp_path}/dag.json'"
    assert [row.pop("first_failure") for row in rows] == [
        f"ENOENT: no such file or directory, open '{tmp_path}/dag.json'",
        "ENOENT: no such file or directory, open 'given/dag.json'",
    ]
    assert [{**row, "source": ""} for row in rows] == [{**wanted, "source": ""}] * 2

    (tmp_path / "run").mkdir()
    whole = [shutil.copy(GOLDEN / name, tmp_path / "run") for name in ["dag.json", "workflow.json", "events.cath-log"]]
    named = Path(whole[-1]).rename(tmp_path / "run" / "other.cath-log")
    row = st.table(named, "runs", verify=True).read_all().to_pylist()[0]
    assert (row["dag_match"], row["schedule_match"], row["state_hashes_match"]) == (True, True, True), "with what is beside it"


def test_temporary_files_are_not_part_of_a_run(tmp_path, monkeypatch):
    # Content of this size is not kept in memory.
    log = (GOLDEN / "events.cath-log").read_bytes() + b"\n" * (1 << 20)
    rows = []
    for foreign in [[], ["dag.json", "workflow.json"]]:
        folder = tmp_path / f"with-{len(foreign)}"
        folder.mkdir()
        for name in foreign:
            shutil.copy(GOLDEN / name, folder)
        monkeypatch.setenv("TMPDIR", str(folder))
        contents = [("given", log), ("given", io.BytesIO(log))]
        rows += [st.table([content], "runs", verify=True).read_all().to_pylist()[0] for content in contents]
        assert sorted(path.name for path in folder.iterdir()) == foreign, "nothing is left"
    assert all(row == rows[0] for row in rows) and rows[0]["dag_match"] is not True


def test_a_stored_blob_that_is_changed_or_gone_is_found(tmp_path, logged):
    run = tmp_path / "run"
    shutil.copytree(GOLDEN, run)
    outputs = {event["payload"]["rawHash"] for event in logged if event["kind"] == "ToolCompleted"}
    stored = [event["payload"]["blob"] for event in logged if event["kind"] == "BlobStored"]
    blob = next(blob for blob in stored if blob not in outputs)
    path = run / "blobs" / blob[:2] / blob
    path.write_bytes(path.read_bytes() + b"!")
    [row] = st.table(run, "runs", verify=True).read_all().to_pylist()
    assert row["failed"] == 1 and "was changed after it was stored" in row["first_failure"]
    path.unlink()
    [row] = st.table(run, "runs", verify=True).read_all().to_pylist()
    assert row["failed"] == 1 and "There is no blob" in row["first_failure"]


def test_damage_is_found(tmp_path, logged):
    run = tmp_path / "run"
    shutil.copytree(GOLDEN, run)
    lines = (run / "events.cath-log").read_bytes().splitlines(keepends=True)
    # A different output hash breaks the chain, but leaves the line well-formed.
    at = next(at for at, event in enumerate(logged) if event["kind"] == "NodeCompleted")
    old = json.loads(lines[at])["payload"]["outputHash"].encode()
    lines[at] = lines[at].replace(old, b"0" * 64)
    (run / "events.cath-log").write_bytes(b"".join(lines))
    [row] = st.table(run, "runs", verify=True).read_all().to_pylist()
    assert row["failed"] > 0 and row["first_failure"] and row["events"] == len(logged)
    (run / "events.cath-log").write_bytes(b"".join(lines[:3]) + b"garbage\n" + b"".join(lines[3:]))
    assert st.events(run, kind="runs").read_all().num_rows == 3
    [row] = st.table(run, "runs").read_all().to_pylist()
    assert row["events"] == 3 and row["error"]


def test_steps_are_those_of_diff(tmp_path, logged):
    """A different output of a tool is found at its step."""
    run = tmp_path / "run"
    shutil.copytree(GOLDEN, run)
    lines = (run / "events.cath-log").read_bytes().splitlines(keepends=True)
    at = next(at for at, event in enumerate(logged) if event["kind"] == "ToolCompleted")
    lines[at] = lines[at].replace(json.loads(lines[at])["payload"]["outputHash"].encode(), b"0" * 64)
    (run / "events.cath-log").write_bytes(b"".join(lines))
    events = st.events([GOLDEN, run], kind="runs").read_all()
    query = """
        select min(a.time) from events a join events b using (step)
        where a.source = $1 and b.source = $2 and a.prefix_hash <> b.prefix_hash
    """
    connection = duckdb.connect()
    connection.register("events", events)
    found = st.first_divergence(GOLDEN, run)
    assert found.divergence_event == logged[at]["time"]
    assert connection.execute(query, [str(GOLDEN), str(run)]).fetchone() == (found.divergence_event,)
    assert st.first_divergence(GOLDEN, GOLDEN) is None


def test_runs_are_found_in_directories_and_exported(tmp_path):
    for name in ("one", "two"):
        shutil.copytree(GOLDEN, tmp_path / "runs" / "deep" / name)
    (tmp_path / "runs" / "session.jsonl").write_text("{}\n")
    report = st.to_delta(tmp_path / "runs", tmp_path / "lake", ["run_events", "runs"], verify=True)
    assert report.sources == 2 and report.rows["runs"] == 2
    assert st.to_delta(tmp_path / "runs", tmp_path / "lake", ["run_events", "runs"], verify=True).unchanged == 2
    assert st.table(tmp_path / "runs", "sessions").read_all()["source"].to_pylist() == [str(tmp_path / "runs" / "session.jsonl")]
    [row] = st.table(tmp_path / "runs" / "session.jsonl", "runs").read_all().to_pylist()
    assert row["error"] == "It is not the log of a run"


@pytest.mark.parametrize("log", [b"", b'{"v":1,"time":0,"ts":'])
def test_a_log_without_events_is_a_row_with_its_error(tmp_path, log):
    run = tmp_path / "run"
    run.mkdir()
    (run / "events.cath-log").write_bytes(log)
    [row] = st.table(run, "runs").read_all().to_pylist()
    assert row["error"] and (row["events"], row["bytes"]) == (0, len(log))
    assert st.events(run, kind="runs").read_all().num_rows == 0

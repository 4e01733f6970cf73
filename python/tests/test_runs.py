"""The tables of runs, of the golden run of the project's fixtures."""

import hashlib
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


def test_damage_is_found(tmp_path, logged):
    run = tmp_path / "run"
    shutil.copytree(GOLDEN, run)
    lines = (run / "events.cath-log").read_bytes().splitlines(keepends=True)
    # An output hash that is another one breaks the chain, not the form of the line.
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
    """Another output of a tool, at its place."""
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
    report = st.to_parquet(tmp_path / "runs", tmp_path / "lake", ["run_events", "runs"], verify=True)
    assert report.sources == 2 and report.rows["runs"] == 2
    assert st.to_parquet(tmp_path / "runs", tmp_path / "lake", ["run_events", "runs"], verify=True).unchanged == 2
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

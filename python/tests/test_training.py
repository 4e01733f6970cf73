"""The program that a build with a profile is trained on works."""

import sys
from pathlib import Path

import pyarrow.dataset as ds

import session_tape as st

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))

import train  # noqa: E402


def test_it_exports_sessions_of_all_kinds_of_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(train, "FILES", 80)
    monkeypatch.setattr(train, "LARGE_RECORDS", 2000)
    monkeypatch.setattr(train, "ROUNDS", 1)
    train.train(tmp_path)
    sizes = {name: ds.dataset(tmp_path / "lake-0" / name).count_rows() for name in st.TABLES[:3]}
    assert sizes["sessions"] == 81 and sizes["events"] > 5000 and sizes["tool_calls"] > 1000
    events = ds.dataset(tmp_path / "lake-0/events").to_table(columns=["status", "type"]).to_pylist()
    assert {"ok", "unknown", "unparseable"} <= {row["status"] for row in events}
    assert {"session_start", "content", "session_event", "compressed", "rewind", "provider_switch", "checkpoint_created"} <= {row["type"] for row in events}
    assert ds.dataset(tmp_path / "runs/runs").count_rows() == 1

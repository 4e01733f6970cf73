"""The examples for query engines, run as their first lines describe."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import session_tape as st

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def lake(fleet, tmp_path_factory):
    lake = tmp_path_factory.mktemp("lake")
    st.to_delta(fleet, lake)
    return lake


def test_duckdb_answers(fleet, tmp_path, monkeypatch):
    st.to_parquet(fleet, tmp_path)
    monkeypatch.chdir(tmp_path)
    statements = duckdb.extract_statements((EXAMPLES / "duckdb.sql").read_text())
    rates, ways, divergence = (duckdb.execute(statement).fetchall() for statement in statements)
    assert rates and all(0 <= rate <= 1 for *_, rate in rates)
    assert ways[0][1] > 1
    sessions = duckdb.sql("select session_id, source from 'sessions/*/*.parquet' order by session_id").fetchall()
    assert divergence == [(st.first_divergence(sessions[0][1], sessions[-1][1]).divergence_event,)]


def test_polars_answers(lake):
    done = subprocess.run([sys.executable, EXAMPLES / "polars.py", lake], capture_output=True, text=True, cwd=lake)
    assert done.returncode == 0, done.stderr
    assert "tool_name" in done.stdout and "ways" in done.stdout


def test_ray_answers(fleet):
    pytest.importorskip("ray", reason="Ray is not installed")
    done = subprocess.run([sys.executable, EXAMPLES / "ray.py", fleet], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "count()" in done.stdout

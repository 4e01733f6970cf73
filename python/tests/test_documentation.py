"""Statements in the documentation hold."""

import re
from pathlib import Path

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

import session_tape as st

DOCUMENT = Path(__file__).parents[2] / "docs/fleet.md"


def test_documented_answers_match_the_real_recordings(real, tmp_path, monkeypatch):
    st.to_delta(real, tmp_path / "lake")
    monkeypatch.chdir(tmp_path)
    connection = duckdb.connect()
    answered = re.findall(r"```sql\n(.*?)```\n\n(\|.*?)\n\n", DOCUMENT.read_text(), re.DOTALL)
    assert len(answered) == 3
    for name in ("events", "tool_calls"):
        connection.register(name, pa.RecordBatchReader.from_stream(DeltaTable(f"lake/{name}").scan()).read_all())
    for query, table in answered:
        header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
        found = connection.sql(query)
        assert found.columns == header
        assert [[str(value) for value in row] for row in found.fetchall()] == rows


def test_every_column_is_documented():
    text = DOCUMENT.read_text()
    for table in st.TABLES:
        for column in st.schema(table, include_payload=True).names:
            is_counted = column.startswith(("type_", "status_"))
            assert is_counted or f"`{column}`" in text, (table, column)

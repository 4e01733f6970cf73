"""Reads Delta Lake tables back, by the engine of the package `deltalake`."""

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

#: The first columns of these make a row unique.
_ORDER = {"sources": ("source", "kind"), "events": ("source", "line", "seq"), "tool_calls": ("source", "called_line", "tool_call_id"), "run_events": ("source", "time")}


def rows(lake, table="sessions"):
    """The rows of a table, in an order that does not depend on its files."""
    found = pa.RecordBatchReader.from_stream(DeltaTable(str(Path(lake, table))).scan()).read_all().to_pylist()
    return sorted(found, key=lambda row: tuple((row[name] is not None, row[name]) for name in _ORDER.get(table, ("source",))))


def names(lake, table="sessions"):
    """The file names of the sources in a table, one for each row."""
    return [Path(row["source"]).name for row in rows(lake, table)]


def ids(lake):
    """The id of the session in each row, by source."""
    return [(Path(row["source"]).name, row["session_id"]) for row in rows(lake)]


def version(lake, table):
    """The version of a table; -1 if it does not exist."""
    log = Path(lake, table, "_delta_log")
    return max((int(path.stem) for path in log.glob("*.json") if path.stem.isdigit()), default=-1)


def listed(lake):
    """What the table `sources` says of each source and kind, without times."""
    return [{name: value for name, value in row.items() if name != "exported_at"} for row in rows(lake, "sources")]


def content(lake, tables=("events", "tool_calls", "sessions", "sources")):
    """All that a lake says, without times of exports."""
    return {table: listed(lake) if table == "sources" else rows(lake, table) for table in tables}


def is_consistent(lake, tables=("events", "tool_calls", "sessions")):
    """Whether each table has as many rows of each source as `sources` says, and none of others."""
    for table in tables:
        counts = {}
        for row in rows(lake, table):
            counts[row["source"]] = counts.get(row["source"], 0) + 1
        said = {row["source"]: row[f"{table}_rows"] for row in rows(lake, "sources") if row[f"{table}_rows"]}
        if counts != said:
            return False
    return True

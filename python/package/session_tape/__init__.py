"""Recordings of AI command-line tools as Arrow and Parquet tables.

Turns the sessions and runs that session-tape has recorded into rows for DuckDB, Polars, Spark, Ray, and everything else that reads Arrow or Parquet.

>>> import session_tape as st
>>> reader = st.events("sessions/")                       # doctest: +SKIP
>>> st.to_parquet("sessions/", "lake/").rows              # doctest: +SKIP
{'events': 512, 'sessions': 10, 'tool_calls': 210}
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Union

from . import _native
from ._native import __version__

if TYPE_CHECKING:
    # The functions that need it import it themselves: importing it takes longer than importing the rest, and an export does not need it.
    import pyarrow as pa

__all__ = [
    "Divergence",
    "ExportReport",
    "TABLES",
    "__version__",
    "events",
    "first_divergence",
    "recordings",
    "schema",
    "table",
    "to_parquet",
    "verify_rows",
]

PathLike = Union[str, "os.PathLike[str]", "os.PathLike[bytes]"]
Bytes = Union[bytes, bytearray, memoryview]
Recording = Union[PathLike, IO[bytes], tuple[str, Bytes], tuple[str, IO[bytes]]]
Recordings = Union[Recording, Iterable[Recording]]
Progress = Callable[[int, int], object]

#: The names of all tables. The first three are of sessions, the others of runs.
TABLES = ("events", "tool_calls", "sessions", "run_events", "runs")

_EVENTS_OF = {"sessions": "events", "runs": "run_events"}
_TEXT_LIMIT = 64 * 1024


@dataclass(frozen=True)
class ExportReport:
    """The result of `to_parquet`.

    >>> report = ExportReport(sources=2, rows={"events": 7})
    >>> report.rows["events"]
    7
    """

    #: Number of recordings that were converted.
    sources: int = 0
    #: Number of recordings that were exported before and have not changed.
    unchanged: int = 0
    #: Bytes of the recordings that were converted.
    bytes: int = 0
    #: Number of rows that were written, by table.
    rows: dict[str, int] = field(default_factory=dict)
    #: The Parquet files that were written.
    parts: list[Path] = field(default_factory=list)
    #: Number of files that were removed because no manifest lists them.
    pruned: int = 0


@dataclass(frozen=True)
class Divergence:
    """Where two recordings diverge.

    >>> Divergence(3, "EventMismatch", "rec_3", "rec_3").divergence_event
    3
    """

    #: In a session, the position of the record, from 0; in a run, the logical time.
    divergence_event: int
    #: `EventMismatch`, `LeftEnded`, `RightEnded` or `HeaderMismatch`.
    kind: str
    #: The id of the event on the left; `None` if the left side has ended.
    left: str | None
    #: The id of the event on the right; `None` if the right side has ended.
    right: str | None


def schema(table: str, *, include_payload: bool = False) -> pa.Schema:
    """The columns of a table. `include_payload` adds the column `payload` to `events`.

    >>> schema("events").names[:3]
    ['source', 'session_id', 'project_hash']
    """
    return _native.schema(_str("table", table), include_payload)


def recordings(paths: Recordings, kind: str = "sessions") -> list[str]:
    """The `source` of each recording that the other functions find in `paths`, in their order. Each can be passed to them as a path.

    An engine can distribute these. Nothing is read, except inputs that have no path.

    >>> recordings([("a.jsonl", b"")])
    ['a.jsonl']
    """
    return _native.recordings(paths, _table_of(kind))


def events(
    paths: Recordings,
    kind: str = "sessions",
    *,
    text_limit: int = _TEXT_LIMIT,
    include_payload: bool = False,
    on_progress: Progress | None = None,
) -> pa.RecordBatchReader:
    """The rows of `events`, or with `kind="runs"` those of `run_events`, batch by batch.

    Nothing is read before a batch is requested. `paths` are files, directories, globs, `(name, bytes)` pairs and open binary files, or an iterable of
    these. Errors of a file are in its rows: see the column `status`, and the column `error` of `sessions`.

    >>> line = b'{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}'
    >>> events([("a.jsonl", line)]).read_all()["session_id"].to_pylist()
    ['s']
    """
    return table(
        paths, _table_of(kind), text_limit=text_limit, include_payload=include_payload, on_progress=on_progress
    )


def table(
    paths: Recordings,
    name: str = "events",
    *,
    text_limit: int = _TEXT_LIMIT,
    include_payload: bool = False,
    verify: bool = False,
    on_progress: Progress | None = None,
) -> pa.RecordBatchReader:
    """The rows of one of the tables, batch by batch. With `verify`, the rows of `runs` have verdicts.

    >>> line = b'{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}'
    >>> table([("a.jsonl", line)], "sessions").read_all()["lines"].to_pylist()
    [1]
    """
    import pyarrow as pa

    columns = schema(_str("name", name), include_payload=include_payload)
    limit = _limit(text_limit)
    stream = _native.stream(paths, name, limit, bool(include_payload), bool(verify), _callable(on_progress))
    return pa.RecordBatchReader.from_batches(columns, stream)


def to_parquet(
    paths: Recordings,
    dest: PathLike,
    tables: Sequence[str] = ("events", "tool_calls", "sessions"),
    *,
    text_limit: int = _TEXT_LIMIT,
    include_payload: bool = False,
    verify: bool = False,
    prune: bool = False,
    on_progress: Progress | None = None,
) -> ExportReport:
    """Writes tables to `dest/<table>/date=YYYY-MM-DD/part-<hash>.parquet`, where the date is the day on which a recording began.

    Recordings that were exported before and have not changed are not written again, so an export can be repeated at any time. A recording that has
    grown gets a new part; `prune=True` removes the previous one. Exports to the same `dest` wait for each other.

    >>> import tempfile
    >>> line = b'{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}'
    >>> with tempfile.TemporaryDirectory() as lake:
    ...     to_parquet([("a.jsonl", line)], lake).rows
    {'events': 1, 'sessions': 1, 'tool_calls': 0}
    """
    if isinstance(tables, str) or not isinstance(tables, Iterable):
        raise TypeError(f"tables must be a sequence of names, not {type(tables).__name__}")
    names = [_str("tables", name) for name in tables]
    report = _native.to_parquet(
        paths,
        _path("dest", dest),
        names,
        _limit(text_limit),
        bool(include_payload),
        bool(verify),
        bool(prune),
        _callable(on_progress),
    )
    return ExportReport(**{**report, "parts": [Path(part) for part in report["parts"]]})


def first_divergence(left: PathLike, right: PathLike) -> Divergence | None:
    """Where two recordings diverge, as `session-tape diff` finds it; `None` if nothing that matters differs.

    >>> first_divergence("a.jsonl", "b.jsonl")            # doctest: +SKIP
    Divergence(divergence_event=2, kind='EventMismatch', left='rec_2', right='rec_2')
    """
    found = _native.first_divergence(_path("left", left), _path("right", right))
    return None if found is None else Divergence(**found)


def verify_rows(table: Any) -> pa.BooleanArray:
    """Reads the bytes of each row of `events` again, and returns for each row whether they have its hash.

    `table` is anything with Arrow's stream interface and the columns `source`, `byte_offset`, `byte_length` and `line_sha256`: a table of pyarrow or
    Polars, or a relation of DuckDB.

    >>> verify_rows(events([]).read_all()).to_pylist()
    []
    """
    if not hasattr(table, "__arrow_c_stream__"):
        raise TypeError(f"table must have Arrow's stream interface, and {type(table).__name__} has not")
    import pyarrow as pa

    return _native.verify_rows(pa.RecordBatchReader.from_stream(table))


def _table_of(kind: str) -> str:
    if _str("kind", kind) not in _EVENTS_OF:
        raise ValueError(f"kind must be 'sessions' or 'runs', not {kind!r}")
    return _EVENTS_OF[kind]


def _str(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be str, not {type(value).__name__}")
    return value


def _path(name: str, value: object) -> str:
    # The path of an `os.PathLike` may be bytes.
    path = os.fsdecode(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise TypeError(f"{name} must be str or os.PathLike, not {type(value).__name__}")
    if not path:
        raise ValueError(f"{name} must not be empty")
    if "\0" in path:
        raise ValueError(f"{name} must not have a null character, and {path!r} has one")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be valid Unicode, and {path!r} is not") from None
    return path


def _limit(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"text_limit must be int, not {type(value).__name__}")
    if value < 0:
        raise ValueError("text_limit must not be negative")
    if value > sys.maxsize:
        raise ValueError(f"text_limit must be at most {sys.maxsize}")
    return value


def _callable(value: Progress | None) -> Progress | None:
    if value is not None and not callable(value):
        raise TypeError(f"on_progress must be callable, and {type(value).__name__} is not")
    return value

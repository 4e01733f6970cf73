"""Recordings of AI command-line tools as Arrow, Delta Lake and Parquet tables.

Turns the sessions and runs that session-tape has recorded, and the sessions of other agents, into rows for DuckDB, Polars, Spark, Ray, and everything else
that reads Arrow, Delta Lake or Parquet.

>>> import session_tape as st
>>> reader = st.events("sessions/")                       # doctest: +SKIP
>>> st.to_delta("sessions/", "lake/").rows                # doctest: +SKIP
{'events': 512, 'tool_calls': 210, 'sessions': 10}
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Union

from . import _native
from ._errors import CommitFailed
from ._native import __version__

if TYPE_CHECKING:
    from ._tables import Options

    # The functions that need it import it themselves: importing it takes longer than importing the rest.
    import pyarrow as pa

__all__ = [
    "CommitFailed",
    "Divergence",
    "ExportReport",
    "TABLES",
    "__version__",
    "events",
    "first_divergence",
    "forget",
    "recordings",
    "schema",
    "table",
    "to_delta",
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
    """The result of `to_delta` and `to_parquet`.

    >>> report = ExportReport(sources=2, rows={"events": 7})
    >>> report.rows["events"]
    7
    """

    #: Number of recordings that were written.
    sources: int = 0
    #: Number of recordings that were in the Delta Lake tables already and have not changed.
    unchanged: int = 0
    #: Bytes of the recordings that were written.
    bytes: int = 0
    #: Number of rows that were written, by table.
    rows: dict[str, int] = field(default_factory=dict)
    #: The versions of the Delta Lake tables after the export.
    versions: dict[str, int] = field(default_factory=dict)
    #: The Parquet files that `to_parquet` has written.
    files: list[Path] = field(default_factory=list)


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
    """The columns of a table as `to_delta` and `to_parquet` write it. `include_payload` adds the column `payload` to `events`.

    The readers that `events` and `table` return have the same columns but `date`, some of them as dictionaries, hashes of fixed length or durations.

    >>> schema("events").names[:3]
    ['source', 'source_format', 'session_id']
    >>> schema("sessions").field("date").type
    DataType(date32[day])
    """
    from ._tables import written_schema

    return written_schema(_str("table", table), include_payload)


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
    these. `PATH#CONVERSATION` is one of several conversations in a session of another program. Errors of a file are in its rows: see the column `status`, and the column `error` of `sessions`.

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

    columns = _native.schema(_str("name", name), bool(include_payload))
    limit = _limit(text_limit)
    stream = _native.stream(paths, [name], limit, bool(include_payload), bool(verify), _callable(on_progress))
    return pa.RecordBatchReader.from_batches(columns, map(itemgetter(1), stream))


def to_delta(
    paths: Recordings,
    uri: PathLike,
    tables: Sequence[str] = ("events", "tool_calls", "sessions"),
    storage_options: Mapping[str, str] | None = None,
    *,
    text_limit: int = _TEXT_LIMIT,
    include_payload: bool = False,
    verify: bool = False,
    on_progress: Progress | None = None,
) -> ExportReport:
    """Writes Delta Lake tables `uri/<table>`, partitioned by `date`: the day in UTC on which a recording began.

    The table `uri/sources` lists the recordings that the others have. Those that have not changed are not written again, and the rows of those that have
    are replaced, so an export can be repeated, killed, and run beside others at any time. Rows of recordings that no longer exist stay until `forget`.
    `uri` and `storage_options` are those of the package `deltalake`, which `pip install 'session-tape[delta]'` installs. `CommitFailed` is raised if other
    writers are always faster.

    >>> import tempfile
    >>> line = b'{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}'
    >>> with tempfile.TemporaryDirectory() as lake:
    ...     to_delta([("a.jsonl", line)], lake).rows
    ...     to_delta([("a.jsonl", line)], lake).unchanged
    {'events': 1, 'tool_calls': 0, 'sessions': 1}
    1
    """
    names, to, options = _names(tables), _path("uri", uri), _options(text_limit, include_payload, verify)
    from . import _delta

    lake = _delta.Lake(to, _storage(storage_options))
    windows = _native.find(paths, names, options.verify)
    export = _delta.Export(lake, names, options, _callable(on_progress))
    with lake.errors():
        export.run(windows)
        return ExportReport(export.sources, export.unchanged, export.bytes, export.rows, export.versions())


def to_parquet(
    paths: Recordings,
    directory: PathLike,
    tables: Sequence[str] = ("events", "tool_calls", "sessions"),
    *,
    append: bool = False,
    text_limit: int = _TEXT_LIMIT,
    include_payload: bool = False,
    verify: bool = False,
    on_progress: Progress | None = None,
) -> ExportReport:
    """Writes plain files `directory/<table>/date=YYYY-MM-DD/part-<random>.parquet`, where the date is the day in UTC on which a recording began.

    The files of a table appear when all are complete. `FileExistsError` is raised for a table that has files, unless `append=True` adds more: there is
    nothing that remembers which recordings were written.

    >>> import tempfile
    >>> line = b'{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}'
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     to_parquet([("a.jsonl", line)], directory).rows
    {'events': 1, 'tool_calls': 0, 'sessions': 1}
    """
    names, to, options = _names(tables), _path("directory", directory), _options(text_limit, include_payload, verify)
    from . import _parquet

    report, files = _parquet.write(paths, to, names, options, bool(append), _callable(on_progress))
    return ExportReport(**report, files=files)


def forget(uri: PathLike, sources: str | Iterable[str], storage_options: Mapping[str, str] | None = None) -> dict[str, int]:
    """Deletes the rows of these sources from the Delta Lake tables at `uri`, and returns how many they were, by table.

    Their files are deleted by `VACUUM`, as all files of earlier versions.

    >>> import tempfile
    >>> line = b'{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}'
    >>> with tempfile.TemporaryDirectory() as lake:
    ...     _ = to_delta([("a.jsonl", line)], lake, ["sessions"])
    ...     forget(lake, "a.jsonl")
    {'sources': 1, 'sessions': 1}
    """
    if not isinstance(sources, Iterable):
        raise TypeError(f"sources must be str or an iterable of str, not {type(sources).__name__}")
    names = [_str("sources", name) for name in ([sources] if isinstance(sources, str) else sources)]
    to = _path("uri", uri)
    from . import _delta

    lake = _delta.Lake(to, _storage(storage_options))
    with lake.errors():
        return _delta.forget(lake, names)


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


def _names(tables: object) -> list[str]:
    if isinstance(tables, str) or not isinstance(tables, Iterable):
        raise TypeError(f"tables must be a sequence of names, not {type(tables).__name__}")
    return list(dict.fromkeys(_str("tables", name) for name in tables))


def _options(text_limit: object, include_payload: object, verify: object) -> Options:
    limit = _limit(text_limit)
    from ._tables import Options

    return Options(limit, bool(include_payload), bool(verify))


def _storage(options: object) -> dict[str, str] | None:
    if options is None:
        return None
    if not isinstance(options, Mapping) or not all(isinstance(text, str) for pair in options.items() for text in pair):
        raise TypeError("storage_options must be a mapping of str to str")
    return dict(options)


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

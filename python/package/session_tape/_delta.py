"""Delta Lake tables that are kept equal to recordings.

Two rules make an export safe to kill, to repeat and to run beside others:

- What `sources` lists of a recording was written before it was listed. A recording whose rows are being replaced is not listed as unchanged.
- A commit replaces rows of exactly the recordings of its batch. It fails if another commit has added rows of these recordings since the table was
  opened, which was before the recordings were read. So no commit puts older rows in the place of newer ones.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from . import _native
from ._errors import CommitFailed
from ._tables import Options, Progress, Rows, write_all, written_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable

#: The table that lists what the others have.
SOURCES = "sources"

_TABLES = ("events", "tool_calls", "sessions", "run_events", "runs")
_ROWS = {table: f"{table}_rows" for table in _TABLES}

_SOURCES_SCHEMA = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        ("date", pa.date32()),
        ("bytes", pa.int64()),
        ("fingerprint", pa.string()),
        ("options", pa.string()),
        ("schema_version", pa.string()),
        *((name, pa.int64()) for name in _ROWS.values()),
        ("exported_at", pa.timestamp("us", "UTC")),
        ("error", pa.string()),
    ]
)

#: The most recordings, and about the most bytes of them, that are committed together.
_BATCH_FILES = 2048
_BATCH_BYTES = 128 << 20

#: A writer keeps the rows of a row group in memory, for each partition.
_GROUP_ROWS = 16_384

#: How often a batch is tried, and the longest wait between, in seconds.
_ATTEMPTS = 10
_WAIT = 1.0

#: A predicate has a range for recordings that follow each other in the table if they are at least so many.
_RANGE_NAMES = 8
_MOST_RANGES = 64


class Lake:
    """The tables at a URI."""

    def __init__(self, uri: str, storage_options: dict[str, str] | None) -> None:
        try:
            import deltalake
        except ImportError:
            raise ImportError("Delta Lake tables need the package deltalake: pip install 'session-tape[delta]'") from None
        self._deltalake = deltalake
        self._uri = uri.rstrip("/") or uri
        self._storage_options = storage_options
        self._tables: dict[str, DeltaTable] = {}

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raises an `OSError` for what Delta Lake could not do."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except DeltaError as error:
            raise OSError(f"{self._uri}: {error}") from error

    def existing(self, table: str) -> DeltaTable | None:
        """The newest version of a table; `None` if it does not exist."""
        if table in self._tables:
            self._tables[table].update_incremental()
        elif self._deltalake.DeltaTable.is_deltatable(f"{self._uri}/{table}", self._storage_options):
            self._tables[table] = self._deltalake.DeltaTable(f"{self._uri}/{table}", storage_options=self._storage_options)
        return self._tables.get(table)

    def opened(self, table: str, schema: pa.Schema, partition_by: list[str]) -> DeltaTable:
        """The newest version of a table, which is created if it does not exist."""
        found = self.existing(table)
        if found is None:
            self._deltalake.DeltaTable.create(
                f"{self._uri}/{table}",
                schema=schema.remove_metadata(),
                mode="ignore",
                partition_by=partition_by,
                name=f"session-tape {table}",
                storage_options=self._storage_options,
            )
            found = self.existing(table)
        assert found is not None
        return found

    def replace(self, table: DeltaTable, predicate: str, reader: pa.RecordBatchReader) -> None:
        """Replaces rows in one commit, which fails if another one has added such rows since the table was opened."""
        # Only `payload` may be missing, here or there, and there what an earlier version has not written.
        is_same = {field.name for field in table.schema().fields} == set(reader.schema.names)
        self._deltalake.write_deltalake(
            table,
            reader,
            mode="overwrite",
            predicate=predicate,
            schema_mode=None if is_same else "merge",
            writer_properties=self._deltalake.WriterProperties(compression="ZSTD", compression_level=1, max_row_group_size=_GROUP_ROWS),
            commit_properties=self._deltalake.CommitProperties(custom_metadata={"session_tape_version": _native.__version__}),
        )

    def held(self, table: str) -> DeltaTable:
        """A table in the version that was last opened or written."""
        return self._tables[table]

    def retried(self, work: Callable[[], Any]) -> Any:
        """Does work that others may interfere with, again if they do."""
        from deltalake.exceptions import CommitFailedError

        for attempt in range(_ATTEMPTS):
            try:
                return work()
            except CommitFailedError as error:
                last = error
            time.sleep(random.uniform(0, min(_WAIT, 0.05 * 2**attempt)))
        raise CommitFailed(f"{self._uri}: other exports have written the same rows {_ATTEMPTS} times meanwhile: {last}")


class Export:
    """An export to a lake."""

    def __init__(self, lake: Lake, tables: list[str], options: Options, on_progress: Any) -> None:
        is_of_runs = tables[0] in _TABLES[3:]
        self._lake, self._tables, self._options = lake, tables, options
        self._kind = "runs" if is_of_runs else "sessions"
        # Of all options only those that determine the rows of this kind.
        deciding = {"verify": options.verify} if is_of_runs else {"include_payload": options.include_payload, "text_limit": options.text_limit}
        self._deciding = " ".join(f"{name}={int(value)}" for name, value in deciding.items())
        self._schema_version = _native.schema(tables[0], False).metadata[b"schema_version"].decode()
        self._progress = Progress(on_progress)
        self._listed: pa.Table | None = None
        self._listed_version = -1
        self.sources = self.unchanged = self.bytes = 0
        self.rows = dict.fromkeys(tables, 0)

    def run(self, windows: Any) -> None:
        """Writes what is new or has changed of the recordings that were found."""
        # Created even if nothing is found, so that they can be read.
        for table in self._tables:
            self._table(table)
        for facts, found in windows:
            for tables, taken in self._batches(facts, self._to_write(facts)):
                self._lake.retried(partial(self._write, tables, facts.take(pa.array(taken)), found.take(taken)))
            # Its temporary files are removed before more are made.
            del found

    def versions(self) -> dict[str, int]:
        """The versions of the tables after the export."""
        return {table: self._lake.held(table).version() for table in self.rows}

    def _table(self, table: str) -> DeltaTable:
        if self._lake.existing(table) is None and self._lake.existing(SOURCES) is not None:
            # Someone has deleted it: what is listed of it is lost.
            self._lake.retried(partial(self._unlist, table))
        return self._lake.opened(table, written_schema(table, self._options.include_payload), ["date"])

    def _unlist(self, table: str) -> None:
        column = _ROWS[table]
        self._sources().update(updates={column: "CAST(NULL AS BIGINT)"}, predicate=f"{column} IS NOT NULL")

    def _sources(self) -> DeltaTable:
        return self._lake.opened(SOURCES, _SOURCES_SCHEMA, [])

    def _listing(self) -> pa.Table:
        """The newest rows of `sources`, except that those written by this export may be missing: no recording is looked up after it was written."""
        sources = self._sources()
        if self._listed is None or sources.version() != self._listed_version:
            rows = _read(sources, _SOURCES_SCHEMA.names, f"kind = '{self._kind}'")
            self._listed, self._listed_version = rows.cast(_SOURCES_SCHEMA).combine_chunks(), sources.version()
        return self._listed

    def _of(self, facts: pa.RecordBatch) -> pa.Table:
        """What is listed of each recording; nulls if nothing is."""
        listed = self._listing()
        names = listed["source"].combine_chunks() if listed.num_rows else pa.array([], pa.string())
        return listed.take(pc.index_in(facts["source"], value_set=names))

    def _to_write(self, facts: pa.RecordBatch) -> pa.Table:
        """The recordings to be written: a table with their indices and what is listed of them. Counts the others as done."""
        listed = self._of(facts)
        same = [
            pc.equal(listed["fingerprint"], facts["fingerprint"]),
            pc.equal(listed["bytes"], facts["bytes"]),
            pc.equal(listed["options"], self._deciding),
            pc.equal(listed["schema_version"], self._schema_version),
            *(pc.is_valid(listed[_ROWS[table]]) for table in self._tables),
        ]
        is_unchanged = same[0]
        for one in same[1:]:
            is_unchanged = pc.and_kleene(is_unchanged, one)
        is_unchanged = pc.fill_null(is_unchanged, False)
        # The rows of a recording that was read once and can't be read at present stay. Without its content, a fingerprint begins with a hyphen.
        was_read = pc.and_(pc.is_valid(listed["source"]), pc.invert(pc.fill_null(pc.starts_with(listed["fingerprint"], "-"), False)))
        is_kept = pc.and_(pc.and_(facts["is_unreadable"], was_read), pc.invert(is_unchanged))
        self.unchanged += pc.sum(is_unchanged).as_py() or 0
        is_done = pc.or_(is_unchanged, is_kept).combine_chunks()
        self._progress.add(facts.filter(is_done))
        indices = pa.array(range(len(facts)), pa.int64())
        return listed.append_column("at", indices).filter(pc.invert(is_done))

    def _batches(self, facts: pa.RecordBatch, rows: pa.Table) -> Iterator[tuple[list[str], list[int]]]:
        """The tables and the indices of recordings that are written together: those that follow each other, since rows are replaced by ranges of names."""
        is_listed = [pc.is_valid(rows[_ROWS[table]]).to_pylist() for table in _TABLES]
        groups: dict[tuple[str, ...], list[int]] = {}
        for at, *has in zip(rows["at"].to_pylist(), *is_listed):
            # A recording that has changed keeps the tables that it had.
            tables = tuple(table for table, had in zip(_TABLES, has) if had or table in self._tables)
            groups.setdefault(tables, []).append(at)
        names, sizes = facts["source"], facts["bytes"].to_pylist()
        for tables, indices in groups.items():
            order = pc.sort_indices(names.take(pa.array(indices))).to_pylist()
            batch: list[int] = []
            size = 0
            for at in (indices[place] for place in order):
                if batch and (len(batch) >= _BATCH_FILES or size + sizes[at] > _BATCH_BYTES):
                    yield list(tables), batch
                    batch, size = [], 0
                batch.append(at)
                size += sizes[at]
            if batch:
                yield list(tables), batch

    def _write(self, tables: list[str], facts: pa.RecordBatch, found: Any) -> None:
        """Writes recordings, except those that another export has written since they were looked up."""
        # By day: a writer keeps what it has not written yet of each partition.
        order = pc.sort_indices(facts["date"]).to_pylist()
        facts, found = facts.take(pa.array(order)), found.take(order)
        opened = {table: self._table(table) for table in tables}
        rows = self._to_write(facts)
        indices = rows["at"].to_pylist()
        if not indices:
            return
        facts, found = facts.take(pa.array(indices)), found.take(indices)
        # The version of which the listing was read, not a newer one.
        sources = self._lake.held(SOURCES)
        # Listed recordings lose their fingerprint first. Otherwise an export that is killed now could leave rows of another state than is listed.
        clean = rows.filter(pc.is_valid(rows["fingerprint"])).select(_SOURCES_SCHEMA.names)
        if clean.num_rows:
            at = _SOURCES_SCHEMA.get_field_index("fingerprint")
            self._list(sources, clean.set_column(at, "fingerprint", pa.nulls(clean.num_rows, pa.string())))
        converted = Rows(facts, found, tables, self._options, self._progress.within())
        writers = {}
        for table, of in opened.items():
            predicate = _predicate(of, facts["source"])
            writers[table] = (converted.schemas[table], partial(self._lake.replace, of, predicate))
        write_all(iter(converted), writers)
        counts = {table: converted.counts(table) for table in tables}
        self._list(sources, self._listing_of(facts, counts, converted.errors()))
        self._progress.add(facts)
        self.sources += len(facts)
        self.bytes += pc.sum(facts["bytes"]).as_py()
        for table, of_table in counts.items():
            self.rows[table] = self.rows.get(table, 0) + pc.sum(of_table).as_py()

    def _listing_of(self, facts: pa.RecordBatch, counts: dict[str, pa.Array], errors: pa.Array) -> pa.Table:
        count = len(facts)
        columns = {
            **{name: facts[name] for name in ("source", "date", "bytes", "fingerprint")},
            "kind": pa.repeat(self._kind, count),
            "options": pa.repeat(self._deciding, count),
            "schema_version": pa.repeat(self._schema_version, count),
            "exported_at": pa.repeat(pa.scalar(datetime.now(timezone.utc), pa.timestamp("us", "UTC")), count),
            "error": errors,
            **{_ROWS[table]: counts.get(table, pa.nulls(count, pa.int64())) for table in _TABLES},
        }
        return pa.table([columns[name] for name in _SOURCES_SCHEMA.names], schema=_SOURCES_SCHEMA)

    def _list(self, sources: DeltaTable, rows: pa.Table) -> None:
        before = sources.version()
        predicate = _predicate(sources, rows["source"].combine_chunks(), f"kind = '{self._kind}' AND ")
        self._lake.replace(sources, predicate, rows.cast(_SOURCES_SCHEMA).to_reader())
        if before == self._listed_version and sources.version() == before + 1:
            self._listed_version += 1


def forget(lake: Lake, names: Iterable[str]) -> dict[str, int]:
    """Deletes the rows of sources in all tables. Returns their numbers by table."""
    wanted = pc.unique(pa.array(names, pa.string()))
    deleted = {}
    # What lists them comes first. If the rest were not done, their rows would be written again, or deleted by the next call.
    for table in (SOURCES, *_TABLES):
        deleted[table] = lake.retried(partial(_delete, lake, table, wanted)) if len(wanted) else 0
    return {table: rows for table, rows in deleted.items() if rows is not None}


def _delete(lake: Lake, table: str, names: pa.Array) -> int | None:
    found = lake.existing(table)
    if found is None:
        return None
    return int(found.delete(_predicate(found, names))["num_deleted_rows"])


def _read(table: DeltaTable, columns: list[str], predicate: str) -> pa.Table:
    return pa.RecordBatchReader.from_stream(table.scan(columns=columns, predicate=predicate)).read_all()


def _predicate(table: DeltaTable, names: pa.Array, also: str = "") -> str:
    """A predicate for the rows of these sources. It has ranges that no other source of this version of the table is in; many single names take long."""
    names = pc.unique(names)
    low, high = (_quoted(pc.min_max(names)[end].as_py()) for end in ("min", "max"))
    within = f"{also}source >= {low} AND source <= {high}"
    others = [pa.array([], pa.string())]
    for batch in pa.RecordBatchReader.from_stream(table.scan(columns=["source"], predicate=within)):
        found = pc.unique(batch["source"]).cast(pa.string())
        others.append(found.filter(pc.invert(pc.is_in(found, value_set=names))))
    other = pc.unique(pa.concat_arrays(others))
    every = pa.concat_arrays([names, other])
    order = pc.sort_indices(every)
    every, is_ours = every.take(order), pc.less(order, pa.scalar(len(names), pa.uint64()))
    ranges, single, begin = [], [], 0
    runs = pc.run_end_encode(is_ours)
    for end, ours in zip(runs.run_ends.to_pylist(), runs.values.to_pylist()):
        if ours and end - begin >= _RANGE_NAMES and len(ranges) < _MOST_RANGES:
            ranges.append(f"(source >= {_quoted(every[begin].as_py())} AND source <= {_quoted(every[end - 1].as_py())})")
        elif ours:
            single += every.slice(begin, end - begin).to_pylist()
        begin = end
    if single:
        ranges.append(f"source IN ({', '.join(map(_quoted, single))})")
    return f"{within} AND ({' OR '.join(ranges)})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

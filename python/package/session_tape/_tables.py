"""The rows of tables on their way to the threads that write them."""

from __future__ import annotations

import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from . import _native

Writer = Callable[[pa.RecordBatchReader], None]

#: Number of batches of a table that wait for its writer.
_WAITING = 1

#: For rows on their way. The default pool of pyarrow keeps what one thread allocates and another one frees.
_POOL = pa.system_memory_pool()

#: How often waiting threads look whether they are to stop, and how long the writers have to end after an interruption, in seconds.
_LOOK = 0.05
_ENDING = 0.5


def written_schema(table: str, include_payload: bool) -> pa.Schema:
    """The columns of a table as it is written: of types that every engine reads, and with the day on which a recording began."""
    rows = _native.schema(table, include_payload)
    plain = [pa.field(field.name, _plain(field.type), field.nullable) for field in rows]
    return pa.schema([*plain, pa.field("date", pa.date32())], rows.metadata)


def _plain(of: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(of):
        return of.value_type
    if pa.types.is_fixed_size_binary(of):
        return pa.binary()
    return pa.int64() if pa.types.is_duration(of) else of


@dataclass(frozen=True)
class Options:
    """What determines the rows of a recording."""

    text_limit: int
    include_payload: bool
    verify: bool


class Rows:
    """The rows of some recordings as they are written, and how many each recording has."""

    def __init__(self, facts: pa.RecordBatch, found: Any, tables: list[str], options: Options, on_progress: Any) -> None:
        self.schemas = {table: written_schema(table, options.include_payload) for table in tables}
        self._sources, self._days = facts["source"], facts["date"]
        self._stream = _native.stream(found, tables, options.text_limit, options.include_payload, options.verify, on_progress)
        self._counts: dict[str, list[pa.StructArray]] = {table: [] for table in tables}

    def __iter__(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        only = self._days[0] if self._days.null_count in (0, len(self._days)) and len(pc.unique(self._days)) == 1 else None
        for table, batch in self._stream:
            schema, source = self.schemas[table], batch["source"]
            days = pa.repeat(only, len(batch)) if only is not None else self._days.take(pc.index_in(source, value_set=self._sources))
            columns = [column if column.type == field.type else column.cast(field.type, memory_pool=_POOL) for column, field in zip(batch.columns, schema)]
            self._counts[table].append(pc.value_counts(source))
            yield table, pa.RecordBatch.from_arrays([*columns, days], schema=schema)

    def counts(self, table: str) -> pa.Array:
        """The number of rows of each recording."""
        counted = self._counts[table]
        if not counted:
            return pa.repeat(pa.scalar(0, pa.int64()), len(self._sources))
        values = pa.chunked_array([one.field("values") for one in counted])
        counts = pa.chunked_array([one.field("counts") for one in counted])
        sums = pa.table({"source": values, "rows": counts}).group_by("source").aggregate([("rows", "sum")])
        at = pc.index_in(self._sources, value_set=sums["source"].combine_chunks())
        return pc.fill_null(sums["rows_sum"].combine_chunks().take(at), 0)

    def errors(self) -> pa.Array:
        """Why each recording is no session or run, or could not be read; null for those that are."""
        errors = self._stream.errors()
        return pa.array([errors.get(source) for source in self._sources.to_pylist()], pa.string())


class _Cancelled(Exception):
    pass


class _Thread(threading.Thread):
    """Writes a table, so that the calling thread can be interrupted. The process does not wait for its end: what is not committed does not count."""

    def __init__(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema, write: Writer) -> None:
        super().__init__(name="session-tape", daemon=True)
        self._batches, self._schema, self._write = batches, schema, write
        self._is_cancelled = False
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._write(pa.RecordBatchReader.from_batches(self._schema, self._read()))
        except BaseException as error:
            self._error = error

    def _read(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            if self._is_cancelled:
                raise _Cancelled
            if batch is not None:
                yield batch

    def cancel(self) -> None:
        """Has the thread end, and waits for it, but not long: it may be committing."""
        self._is_cancelled = True
        end = time.monotonic() + _ENDING
        while self.is_alive() and time.monotonic() < end:
            self.join(_LOOK)

    def finish(self) -> None:
        """Waits for the end of the thread, and raises its error."""
        try:
            while self.is_alive():
                self.join(_LOOK)
        except BaseException:
            self.cancel()
            raise
        if self._error is not None:
            raise self._error


class _Handover:
    """Batches that one thread makes and another one takes. While there are none, the latter gets `None` from time to time."""

    def __init__(self) -> None:
        self._batches: queue.Queue[pa.RecordBatch | None] = queue.Queue(_WAITING)

    def __iter__(self) -> Iterator[pa.RecordBatch | None]:
        while True:
            try:
                batch = self._batches.get(timeout=_LOOK)
            except queue.Empty:
                yield None
                continue
            if batch is None:
                return
            yield batch

    def put(self, batch: pa.RecordBatch | None, thread: _Thread) -> None:
        """Hands over a batch, or after the last one `None`. Raises the error of the thread that takes them if it has failed."""
        while thread.is_alive():
            try:
                return self._batches.put(batch, timeout=_LOOK)
            except queue.Full:
                pass
        thread.finish()


class _Kept:
    """The rows of a table in a temporary file until they are written."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._path = path
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._writer = pa.ipc.new_stream(pa.OSFile(path, "wb"), schema, options=options)

    def add(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(self._path, "rb") as file:
            yield from pa.ipc.open_stream(file, memory_pool=_POOL)


def write_all(rows: Iterable[tuple[str, pa.RecordBatch]], writers: dict[str, tuple[pa.Schema, Writer]]) -> None:
    """Writes several tables whose rows come from one iterator: the first at once, the others afterwards from temporary files. A writer that waits for rows
    while another one does not take its rows could wait forever, since writers share a few threads. After an error, no writer gets to the end of its rows."""
    (first, (schema, write)), *others = writers.items()
    with tempfile.TemporaryDirectory(prefix="session-tape-", ignore_cleanup_errors=True) as folder:
        kept = {table: _Kept(os.path.join(folder, table), schema) for table, (schema, _) in others}
        handover = _Handover()
        thread = _Thread(handover, schema, write)
        try:
            for table, batch in rows:
                if table == first:
                    handover.put(batch, thread)
                else:
                    kept[table].add(batch)
            handover.put(None, thread)
        except BaseException:
            thread.cancel()
            raise
        finally:
            for one in kept.values():
                one.close()
        thread.finish()
        for table, (schema, write) in others:
            _Thread(kept[table], schema, write).finish()


class Progress:
    """Adds up the progress of several streams, and never goes back."""

    def __init__(self, report: Callable[[int, int], object] | None) -> None:
        self._report = report
        self._done = self._most = (0, 0)

    def add(self, facts: pa.RecordBatch | pa.Table) -> None:
        """These recordings are done."""
        files, read = self._done
        self._done = (files + facts.num_rows, read + (pc.sum(facts["bytes"]).as_py() or 0))
        self._reach(self._done)

    def within(self) -> Callable[[int, int], object] | None:
        """What a stream calls that converts the next recordings."""
        if self._report is None:
            return None
        files, read = self._done
        return lambda more_files, more_bytes: self._reach((files + more_files, read + more_bytes))

    def _reach(self, done: tuple[int, int]) -> None:
        most = (max(done[0], self._most[0]), max(done[1], self._most[1]))
        if self._report is not None and most != self._most:
            self._most = most
            self._report(*most)

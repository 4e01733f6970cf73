"""Plain Parquet files, without a state."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from . import _native
from ._tables import Options, Progress, Rows, Writer, write_all, written_schema

#: A row group has at least as many rows or bytes, unless a partition ends.
_GROUP_ROWS = 16_384
_GROUP_BYTES = 8 << 20

#: The name that query engines give to the partition without a date.
_NO_DATE = "__HIVE_DEFAULT_PARTITION__"


def write(
    paths: Any, directory: str, tables: list[str], options: Options, append: bool, on_progress: Any
) -> tuple[dict[str, Any], list[Path]]:
    """Writes the tables to a temporary directory and moves them. Returns the numbers of the report, and the files."""
    windows = _native.find(paths, tables, options.verify)
    root = Path(directory)
    if not append:
        _must_be_empty(root, tables)
    root.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".session-tape-", dir=root))
    try:
        report: dict[str, Any] = {"sources": 0, "bytes": 0, "rows": dict.fromkeys(tables, 0)}
        batches = _batches(windows, tables, options, Progress(on_progress), report)
        write_all(
            _grouped(batches),
            {table: (written_schema(table, options.include_payload), _writer(temporary / table)) for table in tables},
        )
        return report, [path for table in tables for path in _move(temporary / table, root / table)]
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _must_be_empty(root: Path, tables: list[str]) -> None:
    for table in tables:
        path = root / table
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise FileExistsError(errno.EEXIST, "The table exists, and append=True was not passed", str(path))


def _batches(
    windows: Any, tables: list[str], options: Options, progress: Progress, report: dict[str, Any]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    for facts, found in windows:
        # By day, so that a file is complete when the next one is opened.
        order = pc.sort_indices(facts, [("date", "ascending"), ("source", "ascending")]).to_pylist()
        rows = Rows(facts, found.take(order), tables, options, progress.within())
        for table, batch in rows:
            report["rows"][table] += len(batch)
            yield table, batch
        progress.add(facts)
        report["sources"] += len(facts)
        report["bytes"] += pc.sum(facts["bytes"]).as_py()
        # Their temporary files are removed before more are made.
        del found, rows


def _grouped(batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Joins batches to such as are worth a row group."""
    waiting: dict[str, list[pa.RecordBatch]] = {}
    for table, batch in batches:
        group = waiting.setdefault(table, [])
        group.append(batch)
        if sum(map(len, group)) >= _GROUP_ROWS or sum(one.nbytes for one in group) >= _GROUP_BYTES:
            yield table, pa.concat_batches(waiting.pop(table))
    for table, group in waiting.items():
        yield table, pa.concat_batches(group)


def _writer(folder: Path) -> Writer:
    folder.mkdir()

    def write(reader: pa.RecordBatchReader) -> None:
        # Not by `pyarrow.dataset.write_dataset`: it takes rows faster than it writes them, and keeps millions of them in memory.
        day, file = None, None
        try:
            for batch in reader:
                for value in pc.unique(batch["date"]):
                    rows = batch.filter(pc.equal(batch["date"], value) if value.is_valid else pc.is_null(batch["date"])).drop_columns("date")
                    if file is None or value != day:
                        if file is not None:
                            file.close()
                        day, file = value, _opened(folder / f"date={value if value.is_valid else _NO_DATE}", rows.schema)
                    file.write_batch(rows)
        finally:
            if file is not None:
                file.close()

    return write


def _opened(folder: Path, schema: pa.Schema) -> pq.ParquetWriter:
    folder.mkdir(exist_ok=True)
    return pq.ParquetWriter(folder / f"part-{secrets.token_hex(8)}.parquet", schema, compression="zstd", compression_level=3)


def _move(written: Path, table: Path) -> list[Path]:
    """Moves the files of a table into place: all of them, or none. Their names are random, so none replaces another."""
    names = sorted(path.relative_to(written) for path in written.rglob("*.parquet"))
    if not table.exists() or not any(table.iterdir()):
        if table.exists():
            table.rmdir()
        os.rename(written, table)
        return [table / name for name in names]
    moved: list[Path] = []
    try:
        for name in names:
            (table / name).parent.mkdir(exist_ok=True)
            os.rename(written / name, table / name)
            moved.append(table / name)
    except BaseException:
        for path in moved:
            path.unlink(missing_ok=True)
        raise
    return moved

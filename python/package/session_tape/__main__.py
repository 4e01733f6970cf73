"""The command line: `python -m session_tape`, or `session-tape-fleet`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import session_tape as st

if TYPE_CHECKING:
    import pyarrow as pa

_TABLES_OF = {"sessions": st.TABLES[:3], "runs": st.TABLES[3:]}
_TEXT_LIMIT = 64 * 1024
_VERIFIED_COLUMNS = ("source", "byte_offset", "byte_length", "line_sha256")
_ROWS = 16 * 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code.

    >>> main(["schema", "events"]) == 0                   # doctest: +ELLIPSIS
    source: string not null
    ...
    True
    """
    options = _parser().parse_args(arguments)
    try:
        run: Callable[[argparse.Namespace], int] = options.run
        return run(options)
    except KeyboardInterrupt:
        print("interrupted: what was committed so far is complete, and is passed over next time", file=sys.stderr)
        return 130
    except (ImportError, OSError, ValueError) as error:
        print(f"session-tape-fleet: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="session-tape-fleet", description="Recordings as Delta Lake and Parquet tables.")
    parser.add_argument("--version", action="version", version=st.__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    export = commands.add_parser("export", help="write Delta Lake tables, or Parquet files")
    export.add_argument("paths", nargs="+", metavar="PATH", help="files, directories or globs; the last is the URI of the tables, unless --parquet is given")
    export.add_argument("--parquet", metavar="DIR", help="write plain Parquet files to this folder")
    export.add_argument("--append", action="store_true", help="add files to those that are in DIR")
    export.add_argument("--storage-option", action="append", default=[], metavar="NAME=VALUE", help="an option of the package deltalake for the URI")
    export.add_argument("--kind", choices=("sessions", "runs"), help="all tables of these; of sessions unless --table says otherwise")
    export.add_argument("--table", action="append", dest="tables", choices=st.TABLES, help="only these tables")
    export.add_argument("--text-limit", type=int, default=_TEXT_LIMIT, metavar="BYTES")
    export.add_argument("--include-payload", action="store_true", help="with a column of the payloads as they stand")
    export.add_argument("--verify", action="store_true", help="verify runs")
    export.add_argument("--quiet", action="store_true", help="no progress")
    export.set_defaults(run=_export)

    parting = commands.add_parser("first-divergence", help="where two recordings part")
    parting.add_argument("left")
    parting.add_argument("right")
    parting.set_defaults(run=_first_divergence)

    verify = commands.add_parser("verify", help="read again what the rows of a Parquet file came from")
    verify.add_argument("files", nargs="+", metavar="FILE")
    verify.set_defaults(run=_verify)

    schema = commands.add_parser("schema", help="the columns of a table")
    schema.add_argument("table", choices=st.TABLES)
    schema.set_defaults(run=_schema)
    return parser


def _export(options: argparse.Namespace) -> int:
    of_kind = _TABLES_OF[options.kind or "sessions"]
    others = [table for table in options.tables or () if options.kind and table not in of_kind]
    if others:
        raise ValueError(f"--kind {options.kind} has no table '{others[0]}': it must be one of {', '.join(of_kind)}")
    if options.append and not options.parquet:
        raise ValueError("--append adds files to those of --parquet")
    if len(options.paths) < 2 and not options.parquet:
        raise ValueError("export needs at least one PATH and then a URI, or --parquet DIR")
    arguments: dict[str, Any] = {
        "tables": options.tables or of_kind,
        "text_limit": options.text_limit,
        "include_payload": options.include_payload,
        "verify": options.verify,
    }
    with _progress(options.quiet) as on_progress:
        if options.parquet:
            report = st.to_parquet(options.paths, options.parquet, append=options.append, on_progress=on_progress, **arguments)
        else:
            *paths, uri = options.paths
            storage = _storage_options(options.storage_option)
            report = st.to_delta(paths, uri, storage_options=storage, on_progress=on_progress, **arguments)
    print(json.dumps({**vars(report), "files": [str(file) for file in report.files]}, indent=2))
    return 0


def _storage_options(given: Sequence[str]) -> dict[str, str]:
    pairs = [option.partition("=") for option in given]
    for name, sign, _ in pairs:
        if not name or not sign:
            raise ValueError(f"--storage-option must be NAME=VALUE, not {name!r}")
    return {name: value for name, _, value in pairs}


def _first_divergence(options: argparse.Namespace) -> int:
    found = st.first_divergence(options.left, options.right)
    print(json.dumps(None if found is None else vars(found)))
    return 0 if found is None else 2


def _verify(options: argparse.Namespace) -> int:
    failed = 0
    for path in options.files:
        verified = st.verify_rows(_verified_columns(path))
        wrong = verified.false_count + verified.null_count
        failed += wrong
        print(f"{path}: {len(verified)} rows, {wrong} of them not as they were recorded")
    return 0 if failed == 0 else 2


def _verified_columns(path: str) -> pa.RecordBatchReader:
    """The columns of a Parquet file that verification needs, batch by batch: a file may have millions of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    columns = [field for field in file.schema_arrow if field.name in _VERIFIED_COLUMNS]
    batches = file.iter_batches(batch_size=_ROWS, columns=[field.name for field in columns])
    return pa.RecordBatchReader.from_batches(pa.schema(columns), batches)


def _schema(options: argparse.Namespace) -> int:
    print(st.schema(options.table).to_string(show_schema_metadata=False))
    return 0


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar of the bytes that are done; `None` if stderr is not a terminal, tqdm is not installed or `quiet` is set."""
    try:
        from tqdm import tqdm
    except ImportError:
        tqdm = None
    if quiet or tqdm is None or not sys.stderr.isatty():
        yield None
        return
    with tqdm(unit="B", unit_scale=True, desc="exported") as bar:

        def advance(files: int, done: int) -> None:
            bar.set_postfix(files=files, refresh=False)
            bar.update(done - bar.n)

        yield advance


if __name__ == "__main__":
    sys.exit(main())

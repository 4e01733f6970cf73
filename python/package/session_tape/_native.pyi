from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

__version__: str

class BatchStream(Iterator[pa.RecordBatch]):
    def __iter__(self) -> BatchStream: ...
    def __next__(self) -> pa.RecordBatch: ...

def schema(table: str, include_payload: bool) -> pa.Schema: ...
def recordings(paths: Any, table: str) -> list[str]: ...
def stream(
    paths: Any,
    table: str,
    text_limit: int,
    include_payload: bool,
    verify: bool,
    on_progress: Callable[[int, int], object] | None,
) -> BatchStream: ...
def to_parquet(
    paths: Any,
    dest: str,
    tables: list[str],
    text_limit: int,
    include_payload: bool,
    verify: bool,
    prune: bool,
    on_progress: Callable[[int, int], object] | None,
) -> dict[str, Any]: ...
def first_divergence(left: str, right: str) -> dict[str, Any] | None: ...
def verify_rows(table: pa.RecordBatchReader) -> pa.BooleanArray: ...

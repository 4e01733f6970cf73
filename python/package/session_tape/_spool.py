"""Copies recordings that have no path: to memory if they are small, or else to temporary files."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from . import _native

#: Maximum number of bytes that are kept in memory, and number of bytes read at a time.
_KEPT_BYTES = 1 << 20


class Spooled:
    """A recording in a temporary directory of its own, which is removed as soon as nothing refers to this object."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        try:
            directory = tempfile.mkdtemp(prefix="session-tape-")
            weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
            self.path = os.path.join(directory, "recording")
            file = open(self.path, "wb")
        except OSError as error:
            raise _failed(error) from None
        with file:
            for piece in pieces:
                try:
                    file.write(piece)
                except OSError as error:
                    raise _failed(error) from None


def spool(content: Any, must_be_file: bool) -> bytes | Spooled:
    """The content of a bytes-like object, or of a binary file from its current position on. A bundle is always put into a file."""
    pieces = _read(content) if hasattr(content, "read") else iter([content if isinstance(content, bytes) else bytes(content)])
    beginning = b""
    for piece in pieces:
        if len(beginning) + len(piece) > _KEPT_BYTES:
            return Spooled(itertools.chain([beginning, piece], pieces))
        beginning += piece
    if must_be_file or _native.is_archive(beginning[:64]):
        return Spooled([beginning])
    return beginning


def _read(file: Any) -> Iterator[bytes]:
    while True:
        piece = file.read(_KEPT_BYTES)
        if not isinstance(piece, bytes):
            raise TypeError("a file in paths must be open in binary mode, and blocking")
        if not piece:
            return
        yield piece


def _failed(error: OSError) -> OSError:
    return OSError(error.errno, f"A temporary file cannot be written: {error.strerror}", tempfile.gettempdir())

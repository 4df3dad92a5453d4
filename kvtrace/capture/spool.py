"""A run's spool: records reach a file before the journal has them; `_hot_spool.h` writes it.

So a process that is killed soon after its first launch, or between two rounds of the journal,
leaves what it launched: `kvtrace.schema.spooled` reads it. Without the C extension there is none.
"""

import json
import os
import shutil
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kvtrace.capture.hot import Recorder
from kvtrace.schema.spool import spool_folder

#: Larger artifacts, such as binaries with debug information, are left to the journal.
_ARTIFACT_BYTES: Final = 4 << 20
#: What JSON does not know becomes text, and is then refused, or taken, as it fits the table.
_encoded: Final = json.JSONEncoder(default=str, skipkeys=True).encode


class Spool:
    """The spool of one run. Its methods may be called from any thread, and write nothing there."""

    def __init__(self, recorder: Recorder, out: str, run_id: str, run: Mapping[str, Any]) -> None:
        """Begin to spool the recorder's launches, where the recorder can; first of all the run."""
        self._folder = spool_folder(Path(os.path.abspath(out)), run_id)  # noqa: PTH100 - not resolved
        self._native: Any = recorder if hasattr(recorder, "spool_begin") else None
        if self._native is not None and not self._native.spool_begin(
            os.fsencode(self._folder), _frame("runs", run)
        ):
            self._native = None
        #: A round has switched files, and what came before that is not all in the journal yet.
        self.switched = False

    def add(self, table: str, row: Mapping[str, Any]) -> None:
        """Add what is known of a row so far; a later one of the same id completes it."""
        if self._native is not None:
            self._native.spool_add(_frame(table, row))

    def add_artifact(self, sha256: str, kind: str, content: bytes) -> None:
        """Add an artifact, whose content the journal has yet to compress."""
        if self._native is not None and len(content) <= _ARTIFACT_BYTES:
            encoded = b64encode(content).decode()
            self.add("artifacts", {"sha256": sha256, "kind": kind, "content": encoded})

    def switch(self) -> None:
        """Use the other file from now on; `empty` is due before this can be done again."""
        self.switched = True
        if self._native is not None:
            self._native.spool_switch()

    def empty(self) -> None:
        """Empty the file from before the switch: the journal has all of it."""
        self.switched = False
        if self._native is not None:
            self._native.spool_empty()

    def end(self) -> None:
        """Write what waits, and end; the files stay until the journal goes."""
        if self._native is not None:
            self._native.spool_end()
        self._native = None

    def remove(self) -> None:
        """Remove the files of an ended spool whose run has no journal."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _frame(table: str, row: Mapping[str, Any]) -> bytes:
    return _encoded((table, row)).encode()

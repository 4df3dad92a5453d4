"""Disassembly of recorded cubins to SASS, by `nvdisasm` or `cuobjdump`.

The program is searched on PATH, then in an installed Triton. Listings are kept in the trace, as a
run of the program takes a third of a second however small the cubin is.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow as pa

from kvtrace.schema.kept_files import keep_table, kept_path, kept_table
from kvtrace.schema.trace import Trace
from kvtrace.schema.window import whole_trace

TOOLS: Final = ("nvdisasm", "cuobjdump")
_SECONDS: Final = 20
#: The column of a kept listing.
_TEXT: Final = "text"


def disassembler() -> str | None:
    """Return the path of a program that disassembles cubins, or None if none is installed."""
    spec = importlib.util.find_spec("triton")  # does not import triton
    root = None if spec is None or spec.origin is None else Path(spec.origin).parent
    folders = [None] if root is None else [None, str(root / "backends" / "nvidia" / "bin")]
    paths = (shutil.which(tool, path=folder) for folder in folders for tool in TOOLS)
    return next(filter(None, paths), None)


def listings(trace: Trace, tool: str, cubins: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the hash and the listing of cubins of a trace, from the files that it keeps if it can.

    Cubins that are missing or that the tool cannot read are left out.

    Args:
        trace: The trace with the cubins.
        tool: Path of the program, as `disassembler` returns it.
        cubins: Hashes of the cubins.

    """
    whole = whole_trace(trace)
    file = Path(tool).stat()
    paths = {}
    for cubin in cubins:
        facts = json.dumps([tool, file.st_size, file.st_mtime_ns, _options(tool), cubin])
        digest = hashlib.sha256(facts.encode()).hexdigest()
        paths[cubin] = kept_path(whole.path, f"listing-{digest}")
    tables = {cubin: kept_table(path, whole.note, [_TEXT]) for cubin, path in paths.items()}
    missing = {cubin: trace.artifact(cubin) for cubin, table in tables.items() if table is None}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = pool.map(lambda content: content and disassembled(tool, content), missing.values())
        fresh = dict(zip(missing, texts, strict=True))
    for cubin, table in tables.items():
        if table is not None:
            yield cubin, table[_TEXT][0].as_py()
        elif text := fresh[cubin]:
            keep_table(paths[cubin], whole.note, pa.table({_TEXT: [text]}))
            yield cubin, text


def disassembled(tool: str, cubin: bytes) -> str | None:
    """Return a cubin's listing, or None if the tool cannot read the cubin.

    Comments of `nvdisasm` have source lines.

    Args:
        tool: Path of the program, as `disassembler` returns it.
        cubin: The binary.

    """
    with TemporaryDirectory(prefix="kvtrace-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        try:
            result = subprocess.run(
                [tool, *_options(tool), str(path)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return result.stdout if result.returncode == 0 and result.stdout else None


def _options(tool: str) -> tuple[str, ...]:
    return ("-sass",) if Path(tool).stem == "cuobjdump" else ("-c", "-g")

"""Makes a fixture of a trace that says nothing of the machine that it was recorded on.

    python -m tests.gpu.portable_trace TRACE FIXTURE

leaves out what `kvtrace trace redact --paths --host --command` does, with two differences, for
tests that read more than verdicts. Dumps of GPUs are made smaller, and the path of this repository
in them is covered. A file keeps its name below site-packages, in Inductor's cache
or in this repository (`site-packages/torch/nn/functional.py`, `torchinductor/ab/cabc.py`,
`tests/gpu/llama.py`) where `redact` writes `file1.py`. Texts of later stages (TTGIR, LLIR, PTX)
and messages stay, with such names in them; machine code goes.
"""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from kvtrace.addons.fault.dump.reading import reduce_dump
from kvtrace.schema.content import artifact_content, artifact_row
from kvtrace.schema.private import Leaf
from kvtrace.schema.redaction import _RedactedCopy

#: The folder of this repository, as in the line tables of recorded kernels.
ROOT = os.fsencode(os.environ.get("RECORDED_AT", Path(__file__).resolve().parents[2]))
#: Absolute paths in texts; no division of two numbers, and no address of a site.
ABSOLUTE = re.compile(
    r"(?<![\w.:/])/(?:data|home|mnt|opt|root|scratch|srv|tmp|usr|var|work|workspace|Users)"
    r"(?:/[\w.+@-]+)+"
)
_KEPT = re.compile(
    r"/(site-packages/.*|python3\.\d+/.*|(?:examples|tests|benchmarks|corpus|kvtrace)(?:/.*)?)$"
)
_INDUCTOR = re.compile(r"/([a-z0-9]{2}/[a-z0-9]{30,}\.py)$")


def relative(path: str) -> str:
    """Return what tests know a file by, wherever it lay."""
    if not ABSOLUTE.fullmatch(path):  # as torch.fx says where it wrote a function's code from
        return ABSOLUTE.sub(lambda found: relative(found[0]), path)
    generated = _INDUCTOR.search(path)
    if generated is not None:
        return f"torchinductor/{generated[1]}"
    kept = _KEPT.search(path)
    return kept[1] if kept is not None else path.rpartition("/")[2]


class _Portable(_RedactedCopy):
    """A copy with relative paths."""

    def __init__(self, source: Path, out: Path) -> None:
        super().__init__(source, out, frozenset({"paths", "host", "command"}), lambda *_: None)
        self._files = relative  # type: ignore[assignment]

    def _redacted_value(self, leaf: Leaf, entry: dict[str, Any], value: Any) -> Any:
        if leaf.action == "text" and value is not None:
            return ABSOLUTE.sub(lambda found: relative(found[0]), value)
        return super()._redacted_value(leaf, entry, value)

    def _redacted_artifact(self, row: dict[str, Any], source: str) -> dict[str, Any] | None:
        if row["bytes"] is None or row["kind"] == "tensor":
            return row
        try:
            text = artifact_content(row["sha256"], row["size_bytes"], row["bytes"], source).decode()
        except UnicodeDecodeError:
            return None  # machine code
        fresh = ABSOLUTE.sub(lambda found: relative(found[0]), text)
        return row if fresh == text else artifact_row(row["kind"], fresh.encode())


def portable_trace(trace: Path, fixture: Path) -> None:
    """Write a copy of a trace that says nothing of its machine."""
    _Portable(trace, fixture).write()
    for dump in trace.glob("faults/*.nvcudmp"):
        copy = fixture / "faults" / "host.1.nvcudmp"
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(dump, copy)
        reduce_dump(copy)
        copy.write_bytes(copy.read_bytes().replace(ROOT, b"/" + b"r" * (len(ROOT) - 1)))


def main() -> None:
    trace, fixture = map(Path, sys.argv[1:])
    portable_trace(trace, fixture)
    size = sum(path.stat().st_size for path in fixture.rglob("*.parquet"))
    print(f"{fixture}: {size:,} bytes")


if __name__ == "__main__":
    main()

"""Recorded TTGIR in MLIR's generic form, printed by the installed Triton.

Triton reads the text in a separate process, as TTGIR from a foreign trace may crash Triton.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from kvtrace.backends.compiled_kernels.generic import GenericFormFailed, generic_ttir
from kvtrace.schema.errors import KvtraceError

_SECONDS: Final = 60


class UnreadableTtgir(KvtraceError):
    """Raised when the installed Triton cannot read a trace's TTGIR, or Triton is missing."""

    slug: ClassVar[str] = "unreadable-ttgir"


def generic_ttgir(text: str, version: str | None) -> str:
    """Return TTGIR in generic form; `version` is the Triton that printed `text`.

    Raises:
        UnreadableTtgir: Triton cannot read the text; the message is Triton's.

    """
    (generic,) = generic_ttgirs([(text, version)])
    if isinstance(generic, UnreadableTtgir):
        raise generic
    return generic


def generic_ttgirs(texts: Sequence[tuple[str, str | None]]) -> Iterator[str | UnreadableTtgir]:
    """Yield TTGIRs, each with its Triton version, in generic form, by one process if possible.

    If the process ends early, another one continues; a text that ends a process before anything is
    printed is unreadable.
    """
    remaining = list(texts)
    while remaining:
        lines, failure = _printed(remaining)
        for line in lines:
            generic, error = json.loads(line)
            yield UnreadableTtgir(error) if generic is None else generic
        remaining = remaining[len(lines) :]
        if not lines:
            yield failure
            remaining = remaining[1:]


def _printed(
    texts: Sequence[tuple[str, str | None]],
) -> tuple[list[str], UnreadableTtgir]:
    """Print texts by a new process; return its lines of output, and the reason why it ended."""
    variables = {name: value for name, value in os.environ.items() if name != "KVTRACE"}
    variables["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        process = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", __name__],
            input=json.dumps(texts), capture_output=True, encoding="utf-8", errors="replace",
            env=variables, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        out = error.stdout or b""
        text = out.decode(errors="replace") if isinstance(out, bytes) else out
        failure = UnreadableTtgir(f"Triton takes more than {_SECONDS} s to read the TTGIR")
        return text.split("\n")[:-1], failure
    errors = [line for line in process.stderr.splitlines() if line.strip()]
    reason = errors[-1] if errors else f"Triton exited with {process.returncode} while reading it"
    return process.stdout.split("\n")[:-1], UnreadableTtgir(reason)


def main() -> None:
    """Read texts as JSON, and print a line of JSON for each: its generic form, or an error."""
    for text, version in json.load(sys.stdin):
        try:
            line = json.dumps([generic_ttir(text, version), None])
        except GenericFormFailed as error:
            line = json.dumps([None, str(error)])
        except ImportError:
            line = json.dumps([None, "Triton, which reads TTGIR, is not installed here"])
        print(line, flush=True)


if __name__ == "__main__":
    main()

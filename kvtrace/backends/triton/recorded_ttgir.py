"""TTGIR as it was recorded, in MLIR's generic form: printed by the Triton that is installed.

Triton reads it in a separate process, for what a trace from elsewhere holds may crash it.
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
    """The Triton that is installed, if one is, cannot read the TTGIR of a trace."""

    slug: ClassVar[str] = "unreadable-ttgir"


def generic_ttgir(text: str, version: str | None) -> str:
    """Print TTGIR in generic form; `version` is the Triton whose locations it has.

    Raises:
        UnreadableTtgir: with what Triton says of it.

    """
    (found,) = generic_ttgirs([(text, version)])
    if isinstance(found, UnreadableTtgir):
        raise found
    return found


def generic_ttgirs(texts: Sequence[tuple[str, str | None]]) -> Iterator[str | UnreadableTtgir]:
    """Print TTGIRs, each of a version, in generic form, by one process unless it ends too early.

    Then another one begins where it ended: what ends one that has printed nothing is unreadable.
    """
    left = list(texts)
    while left:
        lines, failure = _printed(left)
        for line in lines:
            generic, error = json.loads(line)
            yield UnreadableTtgir(error) if generic is None else generic
        left = left[len(lines) :]
        if not lines:
            yield failure
            left = left[1:]


def _printed(
    texts: Sequence[tuple[str, str | None]],
) -> tuple[list[str], UnreadableTtgir]:
    """Return a line for each text that the process printed, and why it did not print the next."""
    variables = {name: value for name, value in os.environ.items() if name != "KVTRACE"}
    variables["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", __name__],
            input=json.dumps(texts), capture_output=True, encoding="utf-8", errors="replace",
            env=variables, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        out = error.stdout or b""
        text = out.decode(errors="replace") if isinstance(out, bytes) else out
        failure = UnreadableTtgir(f"Triton takes more than {_SECONDS} s to read it")
        return text.split("\n")[:-1], failure
    said = [line for line in done.stderr.splitlines() if line.strip()]
    reason = said[-1] if said else f"Triton ended with {done.returncode} over it"
    return done.stdout.split("\n")[:-1], UnreadableTtgir(reason)


def main() -> None:
    """Print each text that is given in generic form, or why not: JSON in, a line of it for each."""
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

"""TTGIR as it was recorded, in MLIR's generic form: printed by the Triton that is installed.

Triton reads it in a process of its own, for what a trace from elsewhere holds may crash it.
"""

import os
import subprocess
import sys
from typing import ClassVar, Final

from kvtrace.backends.compiled.generic import GenericFormFailed, generic_ttir
from kvtrace.schema.errors import KvtraceError

_SECONDS: Final = 60


class UnreadableTtgir(KvtraceError):
    """The Triton that is installed, if one is, cannot read the TTGIR of a trace."""

    slug: ClassVar[str] = "unreadable-ttgir"


def generic_ttgir(text: str) -> str:
    """Print TTGIR in generic form.

    Raises:
        UnreadableTtgir: with what Triton says of it.

    """
    variables = {name: value for name, value in os.environ.items() if name != "KVTRACE"}
    variables["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", __name__],
            input=text, capture_output=True, encoding="utf-8", errors="replace", env=variables,
            timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UnreadableTtgir(f"Triton takes more than {_SECONDS} s to read it") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise UnreadableTtgir(said[-1] if said else f"Triton ended with {done.returncode} over it")
    return done.stdout


def main() -> None:
    """Print what is given in generic form, or why not."""
    try:
        import triton  # noqa: F401 - whether it is here
    except ImportError:
        sys.exit("Triton, which reads TTGIR, is not installed here")
    try:
        sys.stdout.write(generic_ttir(sys.stdin.read()))
    except GenericFormFailed as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

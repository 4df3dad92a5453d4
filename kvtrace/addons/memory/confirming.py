"""Does what a program prints depend on memory that nobody wrote? It is run with two fillings.

Memory of fresh `torch.empty` is filled with NaN (integers: a large odd number) in one run and with
zeros in the other. If both print the same and end alike, nothing that was printed depends on it.
Whether what it prints is the same each time is asked of two runs with the same filling.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kvtrace.addons.memory.settings import FILL
from kvtrace.schema.errors import KvtraceError

Answer = Literal["changes", "same", "varies"]

_FILLINGS: Final = ("nan", "nan", "zero")


class NotConfirmed(KvtraceError):
    """A program cannot be run with filled memory."""

    slug = "not-confirmed"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What filled memory changes.

    Attributes:
        answer: `changes`: output or exit code differ between fillings; `same`: they do not;
            `varies`: they differ between two runs with the same filling, too.
        evidence: the first line that differs, with both fillings; "" if none does.
        seconds: how long a run took, in the mean.
    """

    answer: Answer
    evidence: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _Ended:
    code: int
    output: bytes
    seconds: float


def confirm(
    command: Sequence[str], place: str | None = None, environment: Mapping[str, str] = os.environ
) -> Confirmation:
    """Run a command three times with filled memory, and compare what it prints and its exit code.

    Args:
        command: the program and its arguments.
        place: `file.py:12`: fill only what this line allocates; None: all fresh memory.
        environment: of the program.

    Raises:
        NotConfirmed: the command cannot be started.
    """
    filled, again, zeroed = (_run(command, how, place, environment) for how in _FILLINGS)
    seconds = (filled.seconds + again.seconds + zeroed.seconds) / len(_FILLINGS)
    if (filled.code, filled.output) != (again.code, again.output):
        return Confirmation("varies", _difference(filled, again, ("NaN", "NaN again")), seconds)
    if (filled.code, filled.output) != (zeroed.code, zeroed.output):
        return Confirmation("changes", _difference(filled, zeroed, ("NaN", "zeros")), seconds)
    return Confirmation("same", "", seconds)


def _run(
    command: Sequence[str], how: str, place: str | None, environment: Mapping[str, str]
) -> _Ended:
    with tempfile.TemporaryDirectory(prefix="kvtrace-confirm-") as folder:
        variables = {
            **environment,
            "KVTRACE": str(Path(folder, "out")),
            FILL: how if place is None else f"{how}@{place}",
        }
        began = os.times().elapsed
        try:
            done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, check=False)
        except OSError as error:
            text = f"{command[0]} cannot be run: {error.strerror or error}."
            raise NotConfirmed(text) from error
        return _Ended(done.returncode, done.stdout, os.times().elapsed - began)


def _difference(first: _Ended, second: _Ended, names: tuple[str, str]) -> str:
    lines = [ended.output.decode(errors="replace").splitlines() for ended in (first, second)]
    for number in range(max(map(len, lines))):
        texts = [each[number] if number < len(each) else "no line" for each in lines]
        if texts[0] != texts[1]:
            return (
                f"line {number + 1} is “{texts[0][:80]}” with {names[0]} and "
                f"“{texts[1][:80]}” with {names[1]}"
            )
    return f"exit code {first.code} with {names[0]} and {second.code} with {names[1]}"


def confirmed_text(confirmation: Confirmation, place: str | None) -> str:
    """Return the sentence on a confirmation; `place` is the line whose memory was filled."""
    memory = "fresh memory" if place is None else f"the memory that {place} allocates"
    return {
        "changes": f"What the program prints depends on {memory}: {confirmation.evidence}",
        "same": f"Output and exit code are the same, whatever {memory} has.",
        "varies": "Not known: the program's output also varies between two runs with the same "
        f"filling: {confirmation.evidence}",
    }[confirmation.answer]

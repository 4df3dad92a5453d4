"""Does what a program prints depend on memory that nobody wrote? It is run with two fillings.

Memory of fresh `torch.empty` is filled with NaN (integers: their largest number) in one run and
with zeros in the other. If both print the same and end alike, nothing that was printed depends on
it. Whether what it prints is the same each time is asked of two runs with the same filling. If only
the memory of one line is asked for, all other fresh memory is zeros in each run: what differs is
that line's memory alone.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kvtrace.addons.memory.settings import FILL, FILLED
from kvtrace.schema.errors import KvtraceError

Answer = Literal["changes", "same", "varies", "unfilled", "failed"]

_NAN: Final = ("NaN", "NaN again")
_ZEROS: Final = ("zeros", "zeros again")


class NotConfirmed(KvtraceError):
    """A program cannot be run with filled memory."""

    slug = "not-confirmed"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Changes of a program's results by filled memory.

    Attributes:
        answer: `changes`: output or exit code differ between fillings; `same`: they do not;
            `varies`: they differ between two runs with the same filling, too; `unfilled`: the
            program made no such memory; `failed`: the program fails whatever memory has.
        evidence: the first line that differs, with both fillings, or how the program failed; "" if
            neither.
        seconds: how long the last run took.
    """

    answer: Answer
    evidence: str
    seconds: float

    @property
    def is_known(self) -> bool:
        """The comparison decided if the output depends on the memory."""
        return self.answer in ("changes", "same")


@dataclass(frozen=True, slots=True)
class _Ended:
    code: int
    output: bytes
    is_filled: bool
    seconds: float

    def is_like(self, other: _Ended) -> bool:
        """Return whether output and exit code are those of another run."""
        return (self.code, self.output) == (other.code, other.output)

    @property
    def failure(self) -> str:
        """The exit code or signal of a run that failed; "" if it did not."""
        if self.code < 0:
            return f"signal {-self.code}"
        return f"exit code {self.code}" if self.code else ""


def confirm(
    command: Sequence[str], place: str | None = None, environment: Mapping[str, str] = os.environ
) -> Confirmation:
    """Run a command with filled memory, and compare what it prints and its exit code.

    Args:
        command: the program and its arguments.
        place: `file.py:12`: what this line allocates is asked for; None: all fresh memory.
        environment: of the program.

    Raises:
        NotConfirmed: the command cannot be started.
    """
    return next(confirmations(command, (place,), environment))


def confirmations(
    command: Sequence[str],
    places: Sequence[str | None],
    environment: Mapping[str, str] = os.environ,
) -> Iterator[Confirmation]:
    """Yield the answer for each of several places; arguments and errors are those of `confirm`.

    The command runs twice with zeros, and once or twice more for each place.
    """
    zeros, again = (_run(command, "zero", environment) for _ in _ZEROS)
    for place in places:
        if not zeros.is_like(again):
            yield Confirmation("varies", _difference(zeros, again, _ZEROS), again.seconds)
            continue
        how = "nan" if place is None else f"nan@{place}"
        filled = _run(command, how, environment)
        if filled.is_like(zeros) and zeros.failure:
            yield Confirmation("failed", zeros.failure, filled.seconds)
        elif not filled.is_filled:
            yield Confirmation("unfilled", "", filled.seconds)
        elif filled.is_like(zeros):
            yield Confirmation("same", "", filled.seconds)
        else:
            yield _repeated(filled, _run(command, how, environment), zeros)


def _repeated(filled: _Ended, again: _Ended, zeros: _Ended) -> Confirmation:
    """Return the answer where the run with NaN is not like that with zeros."""
    if not filled.is_like(again):
        return Confirmation("varies", _difference(filled, again, _NAN), again.seconds)
    names = (_NAN[0], _ZEROS[0])
    return Confirmation("changes", _difference(filled, zeros, names), again.seconds)


def _run(command: Sequence[str], how: str, environment: Mapping[str, str]) -> _Ended:
    with tempfile.TemporaryDirectory(prefix="kvtrace-confirm-") as folder:
        witness = Path(folder, "filled")
        variables = {
            **environment,
            "KVTRACE": str(Path(folder, "out")),
            FILL: how,
            FILLED: str(witness),
        }
        began = os.times().elapsed
        try:
            done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, check=False)
        except OSError as error:
            text = f"{command[0]} cannot be run: {error.strerror or error}."
            raise NotConfirmed(text) from error
        seconds = os.times().elapsed - began
        return _Ended(done.returncode, done.stdout, witness.exists(), seconds)


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
        "same": f"Output and exit code are the same with NaN and with zeros in {memory}; a maximum "
        "or a comparison may hide NaN.",
        "varies": "Not known: the program's output also varies between two runs with the same "
        f"filling: {confirmation.evidence}",
        "unfilled": f"Not known: the program made no tensor of {memory}."
        if place is None
        else f"Not known: the program allocated no tensor at {place}, or not by torch.empty.",
        "failed": f"Not known: the program failed in each run ({confirmation.evidence}), whatever "
        f"{memory} had.",
    }[confirmation.answer]

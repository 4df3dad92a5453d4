"""Conformance of readers: each trace of the suite in schema/conformance/, read by a program.

The reader is started with the folder of a trace behind its own words. It prints the answer that
docs/conformance.md defines as JSON, or exits with a code other than 0 to reject the trace.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kvtrace import schema
from kvtrace.schema.errors import BadSetting, nearest

#: A folder for each case: the trace, and `expected.json`.
SUITE: Final = Path(schema.__file__).with_name("conformance")
_SECONDS: Final = 60
_MOST_DIFFERENCES: Final = 2
_TEXT_LENGTH: Final = 120


@dataclass(frozen=True, slots=True)
class Case:
    """A trace with the expected answer; `answer` None: the trace has to be rejected."""

    name: str
    about: str
    trace: Path
    answer: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How a reader did on a case: `problem` says what is wrong, empty if nothing is."""

    case: str
    about: str
    problem: str


def conformance_cases(names: Sequence[str] = ()) -> list[Case]:
    """Return the cases of the suite, or those named, in the order of their names.

    Raises:
        BadSetting: the suite has no case of a name, or is not there.

    """
    known = sorted(path.parent.name for path in SUITE.glob("*/expected.json"))
    if not known:
        raise BadSetting(f"{SUITE} has no cases; install kvtrace again")
    for name in names:
        if name not in known:
            raise BadSetting(
                f"the suite has no case {name!r}{nearest(name, known)}; kvtrace trace conformance "
                "lists them"
            )
    return [_case(name) for name in known if not names or name in names]


def _case(name: str) -> Case:
    expected = json.loads((SUITE / name / "expected.json").read_text(encoding="utf-8"))
    return Case(name, expected["about"], SUITE / name / "trace", expected["answer"])


def read_cases(reader: Sequence[str], cases: Sequence[Case]) -> Iterator[CaseResult]:
    """Yield how a reader does on each case.

    Args:
        reader: The words of the program, which is started in the working directory.
        cases: The cases to read.

    Raises:
        BadSetting: the program cannot be started.

    """
    for case in cases:
        yield CaseResult(case.name, case.about, _problem(reader, case))


def _problem(reader: Sequence[str], case: Case) -> str:
    """Return what is wrong with the reader's answer, or an empty text."""
    try:
        done = subprocess.run(
            [*reader, str(case.trace)], capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_SECONDS} s"
    except (OSError, ValueError) as error:
        raise BadSetting(
            f"the reader {reader[0]!r} cannot be started: {getattr(error, 'strerror', error)}; "
            "name a program and its arguments, as --reader 'python reader.py'"
        ) from error
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    if case.answer is None:
        return "" if done.returncode else "not rejected: exit code 0"
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        reason = f": {lines[-1]}" if lines else ""
        return f"exit code {done.returncode}{reason}"
    try:
        answer = json.loads(done.stdout)
    except (ValueError, RecursionError) as error:
        return f"what it printed is not JSON: {error}"
    differences = [*_differences(answer, case.answer, "")]
    more = len(differences) - _MOST_DIFFERENCES
    shown = "; ".join(differences[:_MOST_DIFFERENCES])
    return f"{shown}; and {more} more" if more > 0 else shown


def _differences(value: Any, expected: Any, path: str) -> Iterator[str]:
    """Yield a text for each difference; fields that are not expected are not compared."""
    where = path or "the answer"
    if isinstance(expected, dict) and isinstance(value, dict):
        for name, of_field in expected.items():
            field_path = f"{path}.{name}" if path else name
            if name in value:
                yield from _differences(value[name], of_field, field_path)
            else:
                yield f"{field_path} is missing"
    elif isinstance(expected, list) and isinstance(value, list):
        if len(value) != len(expected):
            yield f"{where} has {len(value)} entries, not {len(expected)}"
            return
        for index, (entry, of_entry) in enumerate(zip(value, expected, strict=True)):
            yield from _differences(entry, of_entry, f"{path}[{index}]")
    elif value != expected or isinstance(value, bool) != isinstance(expected, bool):
        yield f"{where} is {_short(value)}, not {_short(expected)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _TEXT_LENGTH else f"{text[:_TEXT_LENGTH]}…"

"""A program that is started here and recorded: its runs, and how it ended."""

import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from kvtrace.schema.errors import BadSetting, EmptyTrace, TraceNotFound
from kvtrace.schema.trace import Selection, open_trace

#: Seconds that a program has to end after Ctrl-C before it is ended.
PATIENCE: Final = 10.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a program launched, None where it launched no kernel, and its exit code.

    A program that a signal ended has 128 and the signal's number, as a shell reports it.
    """

    selection: Selection | None
    exit_code: int


def record_program(
    program: Sequence[str],
    out: Path,
    *,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    output: IO[bytes] | None = None,
) -> Recorded:
    """Run a program with the autostart on, and return the runs that it added to the trace `out`.

    Args:
        program: The command with its arguments; no shell looks at it.
        out: The folder of the trace; runs that it has already are left alone.
        folder: Where to run it; None: here.
        variables: More variables of the environment.
        output: Where its output and complaints go; None: where ours do.

    Raises:
        BadSetting: there is no such program, or it may not be run.
        KeyboardInterrupt: by Ctrl-C; the program has ended by then.

    """
    before = _run_ids(out)
    environment = {
        **os.environ,
        "KVTRACE": str(out.absolute()),
        "KVTRACE_GROUP": f"{os.getpid():x}-{secrets.token_hex(6)}",
        **(variables or {}),
    }
    sys.stdout.flush()
    try:
        process = subprocess.Popen(
            list(program), cwd=folder, env=environment, stdout=output, stderr=output
        )
    except OSError as error:
        raise BadSetting(
            f"{program[0]!r} cannot be run ({error.strerror or error}); give the command after --, "
            "as -- python bench.py."
        ) from error
    code = _ended(process)
    new = [run_id for run_id in _run_ids(out) if run_id not in before]
    if not new:
        return Recorded(None, code)
    trace = open_trace(out)
    runs = tuple(run for run in trace.runs if run.run_id in new)
    launched = set(trace.table("launches", runs, ["call_id"])["run"].unique().to_pylist())
    runs = tuple(run for run in runs if run.run_id in launched)
    return Recorded(Selection(trace, runs) if runs else None, code)


def _ended(process: "subprocess.Popen[bytes]") -> int:
    """Wait for the program, which hears of Ctrl-C itself, and return its exit code."""
    try:
        code = process.wait()
    except BaseException:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return code if code >= 0 else 128 - code


def _run_ids(out: Path) -> tuple[str, ...]:
    try:
        return open_trace(out).run_ids
    except (TraceNotFound, EmptyTrace):
        return ()

"""Recording of a program in a child process: its runs and its exit code."""

import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kvtrace.schema.errors import BadSetting, EmptyTrace, TraceNotFound
from kvtrace.schema.trace import Selection, open_trace

#: Seconds that a program has to end after Ctrl-C before it is killed.
PATIENCE: Final = 10.0
#: The descriptor of this process's standard error.
STANDARD_ERROR: Final = 2


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """The recorded runs of a program that launched kernels, and the program's exit code.

    `selection` is None if no run launched a kernel. The exit code of a program ended by a signal is
    128 plus the signal's number, as in a shell.
    """

    selection: Selection | None
    exit_code: int


def record_program(
    program: Sequence[str],
    out: Path,
    *,
    output: int | None = None,
) -> ProgramRun:
    """Run and record a program, and return the runs that it added to the trace `out`.

    Args:
        program: The command with its arguments, which no shell interprets.
        out: The folder of the trace; its earlier runs are left alone.
        output: The descriptor of the program's output and errors; None: those of this process.

    Raises:
        BadSetting: the program does not exist, or cannot be run.
        KeyboardInterrupt: by Ctrl-C; the program has ended by then.
    """
    earlier_run_ids = _run_ids(out)
    environment = {
        **os.environ,
        "KVTRACE": str(out.absolute()),
        "KVTRACE_GROUP": f"{os.getpid():x}-{secrets.token_hex(6)}",
    }
    sys.stdout.flush()
    try:
        process = subprocess.Popen(list(program), env=environment, stdout=output, stderr=output)
    except OSError as error:
        raise BadSetting(
            f"{program[0]!r} cannot be run ({error.strerror or error}); give the command after --, "
            "for example -- python bench.py."
        ) from error
    code = _exit_code(process)
    new_run_ids = [run_id for run_id in _run_ids(out) if run_id not in earlier_run_ids]
    if not new_run_ids:
        return ProgramRun(None, code)
    trace = open_trace(out)
    runs = tuple(run for run in trace.runs if run.run_id in new_run_ids)
    launching_run_ids = set(trace.table("launches", runs, ["call_id"])["run"].unique().to_pylist())
    runs = tuple(run for run in runs if run.run_id in launching_run_ids)
    return ProgramRun(Selection(trace, runs) if runs else None, code)


def _exit_code(process: "subprocess.Popen[bytes]") -> int:
    """Wait for a process, and return its exit code; it receives Ctrl-C itself."""
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

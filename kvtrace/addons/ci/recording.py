"""Recording of a program in a child process: its runs and its exit code."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

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
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    output: IO[bytes] | int | None = None,
    apart: bool = False,
) -> ProgramRun:
    """Run and record a program, and return the runs that it added to the trace `out`.

    Args:
        program: The command with its arguments, which no shell interprets.
        out: The folder of the trace; its earlier runs are left alone.
        folder: The working directory of the program; None: the current directory.
        variables: Additional environment variables.
        output: The file, or its descriptor, of the program's output and errors; None: those of
            this process.
        apart: The program gets a separate session: Ctrl-C reaches this process alone, which then
            ends the program and all processes that it started.

    Raises:
        BadSetting: the program does not exist, or cannot be run.
        KeyboardInterrupt: by Ctrl-C; the program has ended by then.
    """
    earlier_run_ids = _run_ids(out)
    environment = {
        **os.environ,
        "KVTRACE": str(out.absolute()),
        "KVTRACE_GROUP": f"{os.getpid():x}-{secrets.token_hex(6)}",
        **(variables or {}),
    }
    sys.stdout.flush()
    try:
        process = subprocess.Popen(
            list(program),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL if apart else None,
            stdout=output,
            stderr=output,
            start_new_session=apart,
        )
    except OSError as error:
        raise BadSetting(
            f"{program[0]!r} cannot be run ({error.strerror or error}); give the command after --, "
            "for example -- python bench.py."
        ) from error
    code = _exit_code(process, apart=apart)
    new_run_ids = [run_id for run_id in _run_ids(out) if run_id not in earlier_run_ids]
    if not new_run_ids:
        return ProgramRun(None, code)
    trace = open_trace(out)
    runs = tuple(run for run in trace.runs if run.run_id in new_run_ids)
    launching_run_ids = set(trace.table("launches", runs, ["call_id"])["run"].unique().to_pylist())
    runs = tuple(run for run in runs if run.run_id in launching_run_ids)
    return ProgramRun(Selection(trace, runs) if runs else None, code)


def _exit_code(process: "subprocess.Popen[bytes]", *, apart: bool) -> int:
    """Wait for a process, and return its exit code; if interrupted, end the process.

    `apart`: the process has a separate session, all of whose processes are ended. Otherwise the
    process receives Ctrl-C itself.
    """
    try:
        code = process.wait()
    except BaseException:
        if apart:
            end_session(process)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return code if code >= 0 else 128 - code


def end_session(process: "subprocess.Popen[Any]") -> None:
    """End a process that has a separate session, and all processes of the session.

    Does nothing if the session has ended.
    """
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_number)
        except ProcessLookupError:
            return
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            continue


def _run_ids(out: Path) -> tuple[str, ...]:
    try:
        return open_trace(out).run_ids
    except (TraceNotFound, EmptyTrace):
        return ()

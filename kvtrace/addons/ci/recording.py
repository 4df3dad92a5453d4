"""A program that is started here and recorded: its runs, and how it ended."""

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
    apart: bool = False,
) -> Recorded:
    """Run a program with the autostart on, and return the runs that it added to the trace `out`.

    Args:
        program: The command with its arguments; no shell looks at it.
        out: The folder of the trace; runs that it has already are left alone.
        folder: Where to run it; None: here.
        variables: More variables of the environment.
        output: Where its output and complaints go; None: where ours do.
        apart: Whether Ctrl-C is for us alone, who then end the program and all that it started.

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
            "as -- python bench.py."
        ) from error
    code = _exit_code(process, apart=apart)
    new = [run_id for run_id in _run_ids(out) if run_id not in before]
    if not new:
        return Recorded(None, code)
    trace = open_trace(out)
    runs = tuple(run for run in trace.runs if run.run_id in new)
    launched = set(trace.table("launches", runs, ["call_id"])["run"].unique().to_pylist())
    runs = tuple(run for run in runs if run.run_id in launched)
    return Recorded(Selection(trace, runs) if runs else None, code)


def _exit_code(process: "subprocess.Popen[bytes]", *, apart: bool) -> int:
    """Wait for a process; where that is interrupted, see that it ends.

    Args:
        process: What was started.
        apart: Whether it has a separate session, all of which is then ended. Else it observes
            Ctrl-C itself.

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
    """End a process that was started in a separate session, and all that it has started.

    Does nothing where all of it has ended.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
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

"""Start and end of a process that records with `KVTRACE_FAULTS=on`.

CUDA's driver writes a core dump of the GPU when a kernel fails, if variables asked for it before
the driver started. So they are set when Python starts, for this process and for its children; what
the user has set stays. A dump has registers and parameters, and no tensors. Variables:
https://docs.nvidia.com/cuda/cuda-gdb/#gpu-core-dump-support

`skip_abort` is not among the flags: with it, driver 580 continues after an illegal access as if
nothing had happened.
"""

import atexit
import os
import sys

from kvtrace.surroundings import print_error

TYPE_CHECKING = False  # as type checkers read it; every process that is recorded imports this
if TYPE_CHECKING:
    from kvtrace.capture.session import Session

#: The description for docs/settings.md.
ABOUT = (
    "`on`: a GPU fault leaves a dump in the trace, for [`kvtrace fault`](fault.md); a process that "
    "has one ends by SIGABRT"
)
#: The folder of a trace with dumps of GPUs.
FOLDER = "faults"
SUFFIX = ".nvcudmp"
PIPE = ".pipe"
_FLAGS = (
    "skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,skip_local_memory,"
    "skip_constbank_memory"
)
#: Seconds that a dying process waits for the sentence on its cause.
_PATIENCE = 25

_asked_for = False


def dump_variables(folder: str) -> "dict[str, str]":
    """Return the driver's variables that make it write dumps of a trace's processes.

    The driver replaces `%h` by the name of the host and `%p` by the number of the process.
    """
    faults = os.path.join(folder, FOLDER)  # noqa: PTH118 - pathlib takes longer to import
    return {
        "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1",
        "CUDA_ENABLE_USER_TRIGGERED_COREDUMP": "1",
        "CUDA_COREDUMP_FILE": f"{faults}/%h.%p{SUFFIX}",
        "CUDA_COREDUMP_PIPE": f"{faults}/%h.%p{PIPE}",
        "CUDA_COREDUMP_GENERATION_FLAGS": _FLAGS,
    }


def ask_for_dumps(folder: str) -> None:
    """Set the driver's variables, and watch for the end of this process by a GPU fault."""
    global _asked_for
    from kvtrace.capture import ends

    if _asked_for:
        return
    _asked_for = True
    os.makedirs(os.path.join(folder, FOLDER), exist_ok=True)  # noqa: PTH103, PTH118
    for name, value in dump_variables(folder).items():
        os.environ.setdefault(name, value)
    ends.watchers.append(_watch)
    atexit.register(_remove_pipes, folder)


def is_on() -> bool:
    """Return whether this process records with `KVTRACE_FAULTS=on`."""
    return _asked_for


def _remove_pipes(folder: str) -> None:
    """Remove the pipes of this process from the trace: the driver's, and that for stacks."""
    from pathlib import Path

    from kvtrace.addons.fault.stacks import REQUEST

    for suffix in (PIPE, REQUEST):
        for pipe in Path(folder, FOLDER).glob(f"*.{os.getpid()}{suffix}"):
            pipe.unlink(missing_ok=True)


def _watch(session: "Session") -> None:
    from kvtrace.addons.fault.stacks import answer_requests
    from kvtrace.capture import ends

    answer_requests(session, os.path.join(session.out, FOLDER))  # noqa: PTH118
    ends.before_abort(lambda: _explain(session.out, session.run_id))


def _explain(folder: str, run_id: "str | None") -> None:
    """Write all records, then print what the trace and the dump say of the fault."""
    import subprocess

    from kvtrace.capture.process_sessions import flush_after_signal

    flush_after_signal()
    command = [sys.executable, "-m", "kvtrace", "fault", folder, "--brief"]
    environment = {key: text for key, text in os.environ.items() if not _is_of_recording(key)}
    try:
        done = subprocess.run(
            [*command, *(["--run", run_id] if run_id else [])],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            env=environment,
            check=False,
        )
        text = done.stdout if done.returncode in (0, 1) else done.stderr
    except (OSError, subprocess.SubprocessError):
        text = f"kvtrace: a GPU fault may be behind this abort: kvtrace fault {folder}\n"
    for line in text.splitlines():
        print_error(line.removeprefix("kvtrace: "))
    _make_smaller(folder)
    _remove_pipes(folder)


def _make_smaller(folder: str) -> None:
    """Leave out of this process's dump what says nothing of the fault."""
    from pathlib import Path

    from kvtrace.addons.fault.dump.reading import UnreadableDump, reduce_dump

    for dump in Path(folder, FOLDER).glob(f"*.{os.getpid()}{SUFFIX}"):
        try:
            reduce_dump(dump)
        except UnreadableDump as error:
            print_error(str(error))


def _is_of_recording(name: str) -> bool:
    return name.startswith(("KVTRACE", "CUDA_COREDUMP", "CUDA_ENABLE_"))

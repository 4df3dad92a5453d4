"""A process that compiles, during the program, the kernels whose launches stopped at TTIR.

The process fills Triton's cache, where kvtrace's commands find the later stages. In a process,
other than in a thread, a compiler that crashes, or still runs when Python ends, does not affect the
program. The first kernel starts the process, which has low priority and ends with the recording: at
the end, remaining kernels are waited for up to `WAIT` seconds, and unfinished kernels are reported.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kvtrace.capture.threads import without_size_signal

if TYPE_CHECKING:
    from kvtrace.backends.triton.unfinished_kernels import KernelAtTtir
    from kvtrace.capture.session import Session

#: Seconds that a program waits at its end for kernels that are still being compiled.
WAIT: Final = 5.0
#: Files in the folder that both processes use; a full pipe would make the program wait.
_JOBS: Final = "jobs"
_COMPILED: Final = "compiled"
_END: Final = "end\n"
#: Seconds between two checks for another kernel.
_PAUSE: Final = 0.05
_PROGRAM: Final = "kvtrace.backends.triton.background"


class StageProcess:
    """A process that compiles TTIR into Triton's cache; ended together with its child processes."""

    def __init__(self) -> None:
        """Start the process, with a temporary folder for jobs and results."""
        self.job_count = 0
        self.is_out_of_time = False
        self.folder = Path(tempfile.mkdtemp(prefix="kvtrace-"))
        (self.folder / _JOBS).touch()
        self.process = _start_process(self.folder)

    @without_size_signal()
    def add(self, job: dict[str, Any]) -> None:
        """Queue a kernel for compilation: `ttir`, `target`, `warp_size` and `options`."""
        with (self.folder / _JOBS).open("a", encoding="utf-8") as jobs:
            jobs.write(json.dumps(job) + "\n")
        self.job_count += 1

    @without_size_signal()
    def finish(self, seconds: float | None) -> dict[int, tuple[str, str]]:
        """Wait up to so many seconds (None: forever), and end the process.

        Return hash and name of each compiled kernel by the number of its job, in order of `add`.
        `is_out_of_time` says whether the process was ended before it had tried all.
        """
        with (self.folder / _JOBS).open("a", encoding="utf-8") as jobs:
            jobs.write(_END)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.is_out_of_time = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # the process and its ptxas
            self.process.wait()
        compiled = self.folder / _COMPILED
        lines = compiled.read_text(encoding="utf-8").splitlines() if compiled.is_file() else []
        shutil.rmtree(self.folder, ignore_errors=True)
        return {number: (key, name) for number, key, name in map(json.loads, lines)}


class BackgroundCompiler:
    """The queue of a session's unfinished kernels, compiled in a process of their own."""

    def __init__(self, session: "Session") -> None:
        """Make a queue whose process starts with the first kernel."""
        self._session = session
        self._process: StageProcess | None = None
        self._owner = 0
        self._refused = False
        session.at_end.append(self.finish)

    def add(self, kernel: "KernelAtTtir") -> None:
        """Queue a kernel for compilation."""
        if self._refused:
            return
        # Not at the top: the compiling process does not need this module.
        from kvtrace.backends.compiled_kernels.kernel_records import target_of

        job = {
            "ttir": kernel.asm["ttir"],
            "target": target_of(kernel.metadata),
            "warp_size": kernel.metadata.target.warp_size,
            "options": dict(kernel.options),
        }
        try:
            if self._process is None or self._owner != os.getpid():  # also in a forked child
                self._process, self._owner = StageProcess(), os.getpid()
            self._process.add(job)
        except (OSError, ValueError, TypeError) as error:
            self._refused = True
            self._session.message(
                "warning",
                "no-background-compilation",
                f"kernels are recorded without TTGIR and later code, since none can be compiled in "
                f"the background: {error}",
            )

    def finish(self) -> None:
        """Wait up to `WAIT` seconds for queued kernels, and report those not compiled."""
        process = self._process
        if process is None or self._owner != os.getpid():
            return
        self._process = None
        compiled = len(process.finish(WAIT))
        if compiled < process.job_count:
            self._session.message(
                "info",
                "stages-left",
                f"{process.job_count - compiled} of {process.job_count} kernels had TTIR alone "
                "when the program ended; commands that need later stages compile these kernels",
            )


def _start_process(folder: Path) -> "subprocess.Popen[bytes]":
    variables = {name: value for name, value in os.environ.items() if name != "KVTRACE"}
    variables["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-m", _PROGRAM, str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=variables,
        start_new_session=True,
    )


def _jobs(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield jobs as they are written to the folder's file, until an end mark or the parent ends."""
    parent = os.getppid()
    incomplete_line = ""
    with (folder / _JOBS).open(encoding="utf-8") as file:
        while True:
            incomplete_line += file.readline()
            if incomplete_line == _END:
                return
            if incomplete_line.endswith("\n"):
                yield json.loads(incomplete_line)
                incomplete_line = ""
            elif os.getppid() != parent:
                shutil.rmtree(folder, ignore_errors=True)
                return
            else:
                time.sleep(_PAUSE)


def main(folder: Path) -> None:
    """Compile the jobs in a folder, and write hash and name of each compiled kernel there."""
    os.nice(10)
    import triton.runtime.cache  # noqa: F401 - the module that `compiler_key` changes

    from kvtrace.backends.triton import compiler_key
    from kvtrace.backends.triton.later_stages import compiled_from

    compiler_key.install()
    for job_number, job in enumerate(_jobs(folder)):
        try:
            kernel = compiled_from(job["ttir"], job["target"], job["warp_size"], job["options"])
        except Exception as error:  # noqa: BLE001 - the command that needs this kernel says why
            print(f"kernel not compiled: {error}", file=sys.stderr)
            continue
        with (folder / _COMPILED).open("a", encoding="utf-8") as compiled:
            compiled.write(json.dumps([job_number, kernel.hash, kernel.src.name]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Another process that compiles to the end what the program's launches stopped at TTIR.

It fills Triton's cache, where kvtrace's commands find the later stages. A process, not a thread: a
compiler that crashes or is at work when Python ends does the program no harm. It is started by the
first kernel, runs with low priority, and lives no longer than the recording: at the end it is given
`WAIT` seconds for what is left, and what it has not made then is reported.
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

if TYPE_CHECKING:
    from kvtrace.backends.triton.unfinished_kernels import KnownKernel
    from kvtrace.capture.session import Session

#: Seconds that a program's end waits for kernels that are still being compiled.
WAIT: Final = 5.0
#: Files of the folder that both processes use. A pipe would make the program wait when it is full.
_JOBS: Final = "jobs"
_MADE: Final = "made"
_END: Final = "end\n"
#: Seconds between two looks for another kernel.
_PAUSE: Final = 0.05
_PROGRAM: Final = "kvtrace.backends.triton.background"


class StageProcess:
    """A process that compiles TTIR into Triton's cache; ended with all that it has started."""

    def __init__(self) -> None:
        """Start it."""
        self.given = 0
        self.folder = Path(tempfile.mkdtemp(prefix="kvtrace-"))
        (self.folder / _JOBS).touch()
        self.process = _started(self.folder)

    def add(self, job: dict[str, Any]) -> None:
        """Have a kernel compiled: `ttir`, `target`, `warp_size` and `options`."""
        with (self.folder / _JOBS).open("a", encoding="utf-8") as jobs:
            jobs.write(json.dumps(job) + "\n")
        self.given += 1

    def finish(self, seconds: float | None) -> dict[int, tuple[str, str]]:
        """Wait so long for what is left; return hash and name of what was made, by its number."""
        with (self.folder / _JOBS).open("a", encoding="utf-8") as jobs:
            jobs.write(_END)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # it and its ptxas
            self.process.wait()
        made = self.folder / _MADE
        lines = made.read_text().splitlines() if made.is_file() else []
        shutil.rmtree(self.folder, ignore_errors=True)
        return {number: (key, name) for number, key, name in map(json.loads, lines)}


class BackgroundCompiler:
    """What a session hands unfinished kernels to."""

    def __init__(self, session: "Session") -> None:
        """Make one that starts its process with the first kernel."""
        self._session = session
        self._process: StageProcess | None = None
        self._owner = 0
        self._refused = False
        session.at_end.append(self.finish)

    def add(self, known: "KnownKernel") -> None:
        """Have a kernel compiled."""
        if self._refused:
            return
        # Not at the top: a compiling process does without.
        from kvtrace.backends.compiled_kernels.kernel_records import target_of

        job = {
            "ttir": known.asm["ttir"],
            "target": target_of(known.metadata),
            "warp_size": known.metadata.target.warp_size,
            "options": dict(known.options),
        }
        try:
            if self._process is None or self._owner != os.getpid():  # also in a forked child
                self._process, self._owner = StageProcess(), os.getpid()
            self._process.add(job)
        except (OSError, ValueError, TypeError) as error:
            self._refused = True
            self._session.message(
                "warning", "no-background-compilation", f"no kernel is compiled further: {error}"
            )

    def finish(self) -> None:
        """Wait a bounded time for what is left, and say what is missing."""
        process = self._process
        if process is None or self._owner != os.getpid():
            return
        self._process = None
        made = len(process.finish(WAIT))
        if made < process.given:
            self._session.message(
                "info",
                "stages-left",
                f"{process.given - made} of {process.given} kernels were not compiled beyond TTIR "
                "when the program ended; commands that need their later stages make them",
            )


def _started(folder: Path) -> "subprocess.Popen[bytes]":
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
    """The jobs as they are written, until the last, or until who writes them is gone."""
    parent = os.getppid()
    rest = ""
    with (folder / _JOBS).open(encoding="utf-8") as file:
        while True:
            rest += file.readline()
            if rest == _END:
                return
            if rest.endswith("\n"):
                yield json.loads(rest)
                rest = ""
            elif os.getppid() != parent:
                shutil.rmtree(folder, ignore_errors=True)
                return
            else:
                time.sleep(_PAUSE)


def main(folder: Path) -> None:
    """Compile the jobs of a folder."""
    os.nice(10)
    import triton.runtime.cache  # noqa: F401 - whose key is remembered

    from kvtrace.backends.triton import compiler_key
    from kvtrace.backends.triton.later_stages import compiled_from

    compiler_key.install()
    for number, job in enumerate(_jobs(folder)):
        try:
            kernel = compiled_from(job["ttir"], job["target"], job["warp_size"], job["options"])
        except Exception as error:  # noqa: BLE001 - not made; the command that needs it says why
            print(f"kernel not compiled: {error}", file=sys.stderr)
            continue
        with (folder / _MADE).open("a", encoding="utf-8") as made:
            made.write(json.dumps([number, kernel.hash, kernel.src.name]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

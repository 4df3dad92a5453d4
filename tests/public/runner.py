"""Runs cases one after another, each in a process of its own, and keeps their results.

A case whose reference is Triton's interpreter is run there first: every case is tried there, for
what a case compares with is known only when it has run.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

Result = dict[str, Any]


class Server:
    """A process that forks one for each job: see `server.py`."""

    def __init__(self, cache: Path, *, interpreter: bool) -> None:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("KVTRACE") or key.startswith("KVTRACE_PUBLIC_")
        }
        kept |= {
            "TRITON_CACHE_DIR": str(cache / "triton"),
            "XDG_CACHE_HOME": str(cache / "kvtrace"),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH", "")))),
            "OMP_NUM_THREADS": "1",
        }
        if interpreter:
            kept["TRITON_INTERPRET"] = "1"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.public.server"],
            cwd=ROOT, env=kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def do(
        self, what: str, package: str, case: str, folder: Path, limit: int, *more: Any
    ) -> Result:
        """Have a job done, and return what it found."""
        file = folder / f"{what}.json"
        file.unlink(missing_ok=True)
        job = {"what": what, "package": package, "case": case, "folder": str(folder),
               "limit": limit, "more": more, "result": str(file)}  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        if code == 0:
            found: Result = json.loads(file.read_text())
            return found
        return {"status": "failed", "detail": _ended(code, limit, folder)}


def _ended(code: int, limit: int, folder: Path) -> str:
    if code == -signal.SIGALRM:
        return f"took more than {limit} s"
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    lines = (folder / "log").read_text(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else f"ended with {code}"


def run(
    package: str,
    cases: Sequence[str],
    settings: Sequence[str],
    folder: Path,
    *,
    limit: int,
    interpreter: bool,
) -> Iterator[Result]:
    """Run cases of a package, each once for every setting of `tensors`; results as they come."""
    cache = folder / "cache"
    with ExitStack() as servers:
        ours = servers.enter_context(Server(cache, interpreter=False))
        theirs = servers.enter_context(Server(cache, interpreter=True)) if interpreter else None
        for name in cases:
            place = folder / package / name
            place.mkdir(parents=True, exist_ok=True)
            (place / "interpreted.pt").unlink(missing_ok=True)
            reference: Result = {}
            for number, tensors in enumerate(settings):
                _clear(place / f"out-{tensors}")
                result = ours.do("judged", package, name, place, limit, tensors, interpreter)
                if number == 0 and theirs and result.get("status") == "uncompared":
                    reference = theirs.do("interpreted", package, name, place, limit)
                    _clear(place / f"out-{tensors}")
                    result = ours.do("judged", package, name, place, limit, tensors, interpreter)
                yield {"package": package, "case": name, "tensors": tensors, **result,
                       "interpreter": reference}  # fmt: skip


def run_files(
    package: str, files: Sequence[Path], tensors: str, folder: Path, *, limit: int
) -> Iterator[Result]:
    """Run programs that are files, one after another; results as they come."""
    with Server(folder / "cache", interpreter=False) as server:
        for file in files:
            place = folder / package / file.stem
            place.mkdir(parents=True, exist_ok=True)
            _clear(place / f"out-{tensors}")
            name = str(file.resolve())
            result = server.do("program", package, name, place, limit, tensors, False)
            yield {"package": package, "tensors": tensors, **result, "case": file.stem}


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)

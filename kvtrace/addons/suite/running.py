"""Runs of a suite by its own run.py: on GPUs, or without one in kvtrace's evaluator."""

import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from kvtrace.addons.suite.model import read_index
from kvtrace.addons.suite.results import Result, result_of
from kvtrace.progress import progress
from kvtrace.schema.errors import BadSetting, KvtraceError

#: Files of this add-on that a suite has a copy of: they need torch, Triton and launching.py alone.
STANDALONE: Final = ("run.py", "results.py", "candidates.py", "cache.py", "device.py")


#: The line that run.py prints when it begins a round.
_ROUND: Final = re.compile(r"round (?P<number>\d+) of (?P<rounds>\d+)")


class SuiteFailed(KvtraceError):
    """Raised if a suite's run.py ends without a result."""

    slug: ClassVar[str] = "suite-failed"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a suite's run.py; see its --help."""

    calls: Sequence[str] = ()
    candidate: str | None = None
    rounds: int = 5
    seed: int = 0
    warm: bool = False
    cache: str = "recorded"
    clock: str = "device"

    def words(self) -> list[str]:
        """Return the options as words of a command line."""
        words = ["--rounds", str(self.rounds), "--seed", str(self.seed), "--clock", self.clock]
        words += ["--cache", self.cache]
        words += [word for glob in self.calls for word in ("--calls", glob)]
        words += [] if self.candidate is None else ["--candidate", self.candidate]
        return words + (["--warm"] if self.warm else [])


def has_gpu() -> bool:
    """Return whether torch can use a GPU here."""
    import torch

    return bool(torch.cuda.is_available())


def run_suite(folder: Path, options: RunOptions) -> Result:
    """Run a suite's run.py in a process of its own, and return what it measured.

    Without a GPU, each call is launched once by kvtrace's evaluator, and no time is taken.

    Raises:
        BadSuite: the folder is no suite.
        BadSetting: the suite has no run.py, or no call or candidate fits the options.
        SuiteFailed: the process ended without a result.
    """
    read_index(folder)
    missing = [name for name in STANDALONE if not (folder / name).is_file()]
    if missing:
        raise BadSetting(f"{folder} has no {missing[0]}; make the suite again")
    on_gpu = has_gpu()
    # A recording of run.py by KVTRACE would change its times. It is of this process's group: what
    # the recording without a GPU did not launch is no news.
    environment = {name: value for name, value in os.environ.items() if name != "KVTRACE"}
    environment.setdefault("KVTRACE_GROUP", f"{os.getpid():x}-{secrets.token_hex(6)}")
    with tempfile.TemporaryDirectory(prefix="kvtrace-") as temporary:
        file = Path(temporary) / "result.json"
        command = [sys.executable]
        if not on_gpu:
            command += ["-m", "kvtrace", "run", "-o", str(Path(temporary) / "out")]
        command += [str(folder / "run.py"), "--json", str(file), *options.words()]
        last = "nothing"
        with (
            progress(f"suite run {folder}") as report,
            subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True,
            ) as process,
        ):  # fmt: skip
            assert process.stderr is not None
            for line in process.stderr:
                last = line.strip() or last
                begun = _ROUND.match(line)
                if begun is not None:
                    report(int(begun["number"]) - 1, int(begun["rounds"]))
        if process.returncode == 2:
            raise BadSetting(last.removeprefix("run.py: "))
        if not file.is_file():
            raise SuiteFailed(
                f"{folder / 'run.py'} ended with {process.returncode} and no result; the last that "
                f"it printed: {last}"
            )
        return read_result(file)


def read_result(file: Path) -> Result:
    """Return a result that run.py wrote as JSON.

    Raises:
        BadSetting: the file cannot be read, or is no result.
    """
    try:
        return result_of(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadSetting(
            f"{file} is no result of kvtrace suite run --json ({error}); write one first"
        ) from error

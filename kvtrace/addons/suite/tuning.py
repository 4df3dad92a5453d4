"""Runs of a suite's own tune.py, and the files that it needs."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Final

from kvtrace.addons.suite.configurations import write_configurations
from kvtrace.addons.suite.model import read_index
from kvtrace.addons.suite.running import STANDALONE, has_gpu
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import open_trace

#: Files of this add-on that tune.py consists of.
SCRIPTS: Final = ("tune.py", "tried_file.py", "vllm_files.py")


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """Options of a suite's tune.py; see its --help."""

    configs: Path | None = None
    calls: str = "*"
    write: Path | None = None
    json: Path | None = None

    def words(self) -> list[str]:
        """Return the options as words of a command line."""
        paths = {"--configs": self.configs, "--write": self.write, "--json": self.json}
        words = [] if self.calls == "*" else ["--calls", self.calls]
        return words + [
            word
            for name, path in paths.items()
            if path is not None
            for word in (name, str(path.absolute()))
        ]


def prepare(folder: Path, trials: Path | None) -> int | None:
    """Write tune.py into a suite's folder, and configurations that autotuners tried in a trace.

    Returns for how many calls there are some; None without a trace.

    Raises:
        BadSuite: the folder is no suite.
        BadSetting: the trace is another one, or files are missing or cannot be written.
        NoTrace, DamagedFile, NewerFormat: as the reader of the trace.
    """
    read_index(folder)
    missing = [name for name in STANDALONE if not (folder / name).is_file()]
    if missing:
        raise BadSetting(f"{folder} has no {missing[0]}; make the suite again")
    try:
        for name in SCRIPTS:
            text = files("kvtrace.addons.suite").joinpath(name).read_text(encoding="utf-8")
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise BadSetting(f"cannot write into {folder}: {problem.strerror}") from problem
    return None if trials is None else write_configurations(folder, open_trace(trials))


def tune(
    folder: Path, options: TuneOptions, say: Callable[[str], object], *, as_json: bool = False
) -> int:
    """Run a suite's tune.py in a process of its own, and return its exit code.

    Without a GPU, only the command is said. With `as_json` what was measured is said as JSON, and
    tune.py prints to standard error.
    """
    words = [str(folder / "tune.py"), *options.words()]
    if not has_gpu() and as_json:
        say(json.dumps({"command": ["python", *words], "measured": None}))
        return 0
    if not has_gpu():
        say(f"no GPU here; on a machine with one: python {' '.join(words)}")
        return 0
    # A recording of tune.py by KVTRACE would change its times.
    environment = {name: value for name, value in os.environ.items() if name != "KVTRACE"}
    if not as_json:
        return subprocess.run([sys.executable, *words], env=environment, check=False).returncode
    with tempfile.TemporaryDirectory(prefix="kvtrace-") as temporary:
        file = Path(temporary) / "tuned.json"
        words = [str(folder / "tune.py"), *replace(options, json=file).words()]
        command = [sys.executable, *words]
        code = subprocess.run(command, env=environment, check=False, stdout=2).returncode
        if file.is_file():
            say(file.read_text(encoding="utf-8"))
    return code

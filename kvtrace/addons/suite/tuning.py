"""Runs of a suite's own tune.py, and the files that it needs: configurations that were tried."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from kvtrace.addons.suite.model import Entry, read_index
from kvtrace.addons.suite.running import STANDALONE, has_gpu
from kvtrace.converters.profile.autotune import arguments_text, read_tunings
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

if TYPE_CHECKING:
    from pathlib import Path

    from kvtrace.schema.trace import Run, Trace


#: Files of this add-on that tune.py consists of.
SCRIPTS: Final = ("tune.py", "configuration_files.py")


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


# Configurations that autotuners tried in a run, for the calls of a suite made from it.
#
# A trial has its constants, options and grid. At other sizes than those that were tried the grid is
# not recorded. It is then derived: an axis is a number times `cdiv(size, block)` of one size and
# one constant, or of two of each, if that agrees with every recorded trial and with the call
# itself.
#
# Example: trials at n = 1000 had grids of 16 programs with BLOCK 64, and 8 with 128. So the axis is
# cdiv(n, BLOCK), and at n = 5000 it has 79 programs with BLOCK 64.

FILE: Final = "configurations.json"

_OPTIONS: Final = ("num_warps", "num_stages", "num_ctas")
#: Pairs of size and constant in one axis of a grid.
_MOST_FACTORS: Final = 2

Constants = Mapping[str, int]
Grid = tuple[int, int, int]
#: Pairs of size and constant.
Factors = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Launch:
    """A recorded call: its sizes and constants by name, its compile options, and its grid."""

    sizes: Constants
    constants: Mapping[str, Any]
    options: Constants
    grid: Grid
    is_trial: bool


def write_configurations(folder: Path, trace: Trace) -> int:
    """Write `configurations.json` into a suite's folder; return for how many entries it has some.

    Raises:
        BadSuite: the folder is no suite.
        BadSetting: the trace has none of the suite's runs, or the file cannot be written.
        DamagedFile, NewerFormat: as the reader of the trace.
    """
    suite = read_index(folder)
    runs = {run.run_id: run for run in trace.runs}
    by_run: dict[str, list[Entry]] = defaultdict(list)
    for entry in suite.entries:
        by_run[entry.calls[0].partition("/")[0]].append(entry)
    if not by_run.keys() & runs.keys():
        raise BadSetting(
            f"{trace.path} has none of the runs of {folder}: name the trace that it was made from"
        )
    content: dict[str, Any] = {}
    for run_id, entries in by_run.items():
        if run_id in runs:
            content |= _configurations_of_run(trace, runs[run_id], entries)
    try:
        (folder / FILE).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as problem:
        raise BadSetting(f"cannot write {folder / FILE}: {problem.strerror}") from problem
    return len(content)


def _configurations_of_run(
    trace: Trace, run: Run, entries: Sequence[Entry]
) -> dict[str, dict[str, Any]]:
    """Return what `configurations.json` has of each entry whose kernel was tried in a run."""
    tried = {
        (trial.kernel_id, tuning.arguments): trial.configuration
        for tuning in read_tunings(trace, [run])
        for trial in tuning.trials
    }
    varied: dict[KernelKey, set[str]] = defaultdict(set)
    kernels = {row["kernel_id"]: row for row in plain_rows(trace.table("kernels", [run]))}
    for (kernel_id, _), configuration in tried.items():
        varied[key_of(kernels[kernel_id])] |= set(configuration)
    launches: dict[KernelKey, list[_Launch]] = defaultdict(list)
    by_call: dict[int, tuple[KernelKey, _Launch]] = {}
    for row in plain_rows(trace.table("calls", [run])):
        kernel = kernels.get(row["kernel_id"])
        if kernel is None or key_of(kernel) not in varied:
            continue
        key = key_of(kernel)
        is_trial = (row["kernel_id"], arguments_text(row["args"])) in tried
        launch = _launch(row, kernel, varied[key], is_trial=is_trial)
        launches[key].append(launch)
        by_call[row["call_id"]] = key, launch
    content = {}
    for entry in entries:
        call = int(entry.calls[0].partition("/")[2])
        if call in by_call:
            key, launch = by_call[call]
            listed = list(_of_call(launch, launches[key]))
            if listed:
                content[entry.name] = {"configurations": listed}
    return content


def _launch(
    row: Mapping[str, Any], kernel: Mapping[str, Any], varied: set[str], *, is_trial: bool
) -> _Launch:
    sizes: dict[str, int] = {}
    constants: dict[str, Any] = {}
    for arg in row["args"] or ():
        name, value = arg["name"], arg["scalar"]
        if arg["kind"] == "constexpr" and name in varied:
            constants[name] = _value(value)
        elif value is not None and value.lstrip("-").isdigit():
            sizes[name] = int(value)
        for axis, extent in enumerate(arg["shape"] or ()):
            sizes[f"{name}.{axis}"] = extent
    options: dict[str, int] = {
        name: kernel[name] for name in _OPTIONS if name in varied and kernel[name] is not None
    }
    grid = (row["grid_x"], row["grid_y"], row["grid_z"])
    return _Launch(sizes, constants, options, grid, is_trial)


def _value(text: str | None) -> Any:
    try:
        return ast.literal_eval(str(text))
    except (ValueError, SyntaxError):
        return text


def _of_call(call: _Launch, launches: Sequence[_Launch]) -> Iterator[dict[str, Any]]:
    """Yield the configurations of trials, with the grid that a call has with them.

    Those whose grid is not certain are left out.
    """
    grids = _Grids(call, launches)
    seen = {(tuple(call.constants.items()), tuple(call.options.items()))}
    for trial in launches:
        key = tuple(trial.constants.items()), tuple(trial.options.items())
        if not trial.is_trial or key in seen:
            continue
        grid = grids.with_constants_of(trial)
        if grid is not None:
            seen.add(key)
            yield {
                "constants": dict(trial.constants),
                "options": dict(trial.options),
                "grid": list(grid),
            }


class _Grids:
    """Grids of a call with other constants."""

    def __init__(self, call: _Launch, launches: Sequence[_Launch]) -> None:
        self._call = call
        groups: dict[tuple[tuple[str, int], ...], list[_Launch]] = defaultdict(list)
        for launch in launches:
            groups[tuple(sorted(launch.sizes.items()))].append(launch)
        self._groups = list(groups.values())
        self._factors: dict[int, list[Factors]] = {}

    def with_constants_of(self, trial: _Launch) -> Grid | None:
        """Return the grid of the call with the constants of a trial; None if it is not certain."""
        call = self._call
        if trial.constants == call.constants:
            return call.grid
        if trial.sizes == call.sizes:
            return trial.grid
        # Constants whose effect on the grid is not recorded at any sizes may have one.
        if not any(
            call.constants in (known := [launch.constants for launch in group])
            and trial.constants in known
            for group in self._groups
        ):
            return None
        x, y, z = (self._extent(axis, trial) for axis in range(3))
        return None if x is None or y is None or z is None else (x, y, z)

    def _extent(self, axis: int, trial: _Launch) -> int | None:
        """Return the extent of an axis; None if no factors, or several, give different ones."""
        if axis not in self._factors:
            self._factors[axis] = self._agreeing(axis)
        extents = {_scaled(axis, factors, self._call, trial) for factors in self._factors[axis]}
        return extents.pop() if len(extents) == 1 else None

    def _agreeing(self, axis: int) -> list[Factors]:
        """Return the fewest factors that agree with all launches at the same sizes each."""
        groups = [group for group in self._groups if len(group) > 1]
        blocks = [name for name, value in self._call.constants.items() if _is_positive(value)]
        values = {
            tuple(
                one.sizes.get(name, 0) for one in (self._call, *(group[0] for group in groups))
            ): name
            for name, value in self._call.sizes.items()
            if value > 1
        }  # one name of those that are equal everywhere
        for number in range(_MOST_FACTORS + 1):
            candidates: Iterator[Factors] = (
                tuple(zip(sizes, chosen, strict=True))
                for chosen in combinations(blocks, number)
                for sizes in product(values.values(), repeat=number)
            )
            agreeing = [
                factors
                for factors in candidates
                if all(_agrees(axis, factors, group) for group in groups)
            ]
            if agreeing:
                return agreeing
        return []


def _agrees(axis: int, factors: Factors, group: Sequence[_Launch]) -> bool:
    """Return whether an axis of launches at the same sizes is one number times the factors."""
    rests = set()
    for launch in group:
        programs = _programs(factors, launch.sizes, launch.constants)
        if programs is None or launch.grid[axis] % programs:
            return False
        rests.add(launch.grid[axis] // programs)
    return len(rests) == 1


def _scaled(axis: int, factors: Factors, call: _Launch, trial: _Launch) -> int | None:
    """Return the extent of a call's axis with a trial's constants in the factors."""
    ours = _programs(factors, call.sizes, call.constants)
    theirs = _programs(factors, call.sizes, trial.constants)
    if ours is None or theirs is None or call.grid[axis] % ours:
        return None
    return call.grid[axis] // ours * theirs


def _programs(factors: Factors, sizes: Constants, constants: Mapping[str, Any]) -> int | None:
    """Return the product of cdiv(size, block); None if one of them is not known or not positive."""
    programs = 1
    for size, block in factors:
        length, divisor = sizes.get(size, 0), constants.get(block)
        if length <= 0 or not _is_positive(divisor):
            return None
        programs *= -(-length // divisor)
    return programs


def _is_positive(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0

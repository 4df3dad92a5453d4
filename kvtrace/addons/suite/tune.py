"""Try other configurations of this suite's calls on a GPU; needs torch and Triton only.

    python tune.py --calls 'chunk_*' --json result.json
    python tune.py --calls fused_moe_kernel --write configs/

Configurations are those of `configurations.json`, which `kvtrace suite tune` writes, of a file in
its format (--configs), or some that are known for a library's kernel. Other calls are tried with
other numbers of warps and stages. A configuration counts only if it stores what the recorded one
stores, and a gain only if it is 1 % in all but the worst tenth of rounds, in which both take turns.
Times are taken as by run.py with a cleared cache.

A file of configurations has, by the name of an entry or of a kernel, `configurations` (a list of
`constants`, `options` such as num_warps, and `grid`), or a `space` of values by name, which is
searched one name after another. `grid` lists numbers, or expressions of arguments and constants
such as "cdiv(n, BLOCK)"; without one the grid stays as recorded.

This runs recorded code: read the suite first if it is not yours.
"""

import argparse
import fnmatch
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from kvtrace.addons.suite import candidates, configuration_files, device, run
    from kvtrace.converters.scripts import launching
else:  # the files beside this one: a suite needs no kvtrace
    import candidates
    import configuration_files
    import device
    import launching
    import run


FOLDER = Path(__file__).resolve().parent
#: Launches that a configuration is measured with first, and in each of some rounds at the end.
LAUNCHES, ROUNDS, ROUND_LAUNCHES = 20, 10, 20
#: The fastest configurations that are measured in rounds, beside the recorded one.
FINALISTS = 2
#: Least gain that counts.
LEAST_GAIN = 0.01
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
WARPS_AND_STAGES = {"num_warps": [1, 2, 4, 8, 16, 32], "num_stages": [1, 2, 3, 4]}
#: Spaces of libraries' kernels that read configurations from files. BLOCK_SIZE_M stays: the
#: recorded order of tokens is padded to it.
KNOWN_SPACES: dict[str, dict[str, Any]] = {
    "fused_moe_kernel": {
        "grid": ["cdiv(EM, BLOCK_SIZE_M) * cdiv(N, BLOCK_SIZE_N)"],
        "space": {
            "BLOCK_SIZE_N": [32, 64, 128, 256],
            "BLOCK_SIZE_K": [32, 64, 128, 256],
            "GROUP_SIZE_M": [1, 8, 16, 32, 64],
            "num_warps": [2, 4, 8],
            "num_stages": [2, 3, 4, 5],
        },
    }
}


class DeviceLost(Exception):
    """Says which launch failed so that every later one fails, too."""


@dataclass(frozen=True)
class Configuration:
    """Constants of the kernel, compile options, and the grid."""

    constants: tuple[tuple[str, Any], ...]
    options: tuple[tuple[str, Any], ...]
    grid: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.constants + self.options)


@dataclass
class Job:
    """Entries that share a configuration, and what was measured of them (times in ns)."""

    entries: list[Mapping[str, Any]]
    calls: list["launching.Call"]
    known: Mapping[str, Any]
    tried: dict[Configuration, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    #: The recorded calls, compiled.
    bases: list["run.SuiteCall"] = field(default_factory=list)
    #: What each of them stores.
    results: list["run.Memory"] = field(default_factory=list)


# ---- Configurations ----


def recorded(job: Job) -> Configuration:
    """Return the configuration that was recorded, with the names that the job varies."""
    call, names = job.calls[0], varied_names(job)
    constants = {name: call.arguments[name] for name in names if name in call.arguments}
    options = {name: call.options.get(name) for name in names if name in OPTIONS}
    return Configuration(tuple(constants.items()), tuple(options.items()))


def varied_names(job: Job) -> list[str]:
    """Return the names of all constants and options that configurations of a job have."""
    names = dict.fromkeys(job.known.get("space", ()))
    for one in job.known.get("configurations", ()):
        names |= dict.fromkeys((*one.get("constants", ()), *one.get("options", ())))
    return list(names)


def with_values(job: Job, values: Mapping[str, Any], grid: Sequence[Any] = ()) -> Configuration:
    """Return the recorded configuration with other values."""
    base = recorded(job)
    return Configuration(
        tuple((name, values.get(name, value)) for name, value in base.constants),
        tuple((name, values.get(name, value)) for name, value in base.options),
        tuple(grid or job.known.get("grid", ())),
    )


def variant(call: "launching.Call", configuration: Configuration) -> "launching.Call":
    """Return a call with another configuration. Raises CannotTry: its grid cannot be computed."""
    values = call.arguments | dict(configuration.constants)
    options = {k: v for k, v in configuration.options if v is not None}
    extents = [configuration_files.computed(extent, values) for extent in configuration.grid]
    extents = extents or list(call.grid)
    x, y, z = [*extents, 1, 1][:3]
    return call._replace(arguments=values, options=call.options | options, grid=(x, y, z))


# ---- Measuring ----


class Tuner:
    """Measures configurations of jobs on the active device."""

    def __init__(self, folder: Path, clock: str) -> None:
        self.device = device.Device(clock)
        self._folder, self._number = folder, 0

    def new_folder(self) -> Path:
        """Return a new folder for the code of kernels."""
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        return folder

    def prepare(self, job: Job) -> None:
        """Compile and launch a job's recorded calls.

        Raises:
            CannotTry: one cannot be launched, or its results change from launch to launch.
        """
        for entry in job.entries:
            try:
                base = run.SuiteCall(entry, self.device, self.new_folder(), 0)
                base.examine()
                expected, again = base.fresh(), base.fresh()
                base.start(base.arguments(expected))
                base.start(base.arguments(again))
                self.device.interface.synchronize()
            except Exception as error:
                raise configuration_files.CannotTry(candidates.told(error)) from error
            why = candidates.difference(base.call, expected, again)
            if why is not None:
                text = f"its own results change from launch to launch ({why})"
                raise configuration_files.CannotTry(text)
            job.bases.append(base)
            job.results.append(expected)

    def time(self, job: Job, configuration: Configuration) -> float:
        """Return the sum of the medians of a job's calls, ns, after a check of their results.

        Raises:
            CannotTry: the configuration does not compile, or its results differ.
        """
        return sum(
            statistics.median(measure(LAUNCHES)) for measure in self._measured(job, configuration)
        )

    def rounds(
        self, job: Job, configurations: Sequence[Configuration]
    ) -> dict[Configuration, list[float]]:
        """Return times of configurations, ns, in rounds in which they take turns.

        Raises:
            CannotTry: as `time`.
        """
        measured = {one: self._measured(job, one) for one in configurations}
        times: dict[Configuration, list[float]] = {one: [] for one in configurations}
        order, shuffle = list(configurations), random.Random(0)  # noqa: S311 - an order
        for _ in range(ROUNDS):
            shuffle.shuffle(order)
            for one in order:
                medians = [statistics.median(measure(ROUND_LAUNCHES)) for measure in measured[one]]
                times[one].append(sum(medians))
        return times

    def _measured(
        self, job: Job, configuration: Configuration
    ) -> list[Callable[[int], list[float]]]:
        """Return a function for each call of a job, from a number of launches to their times."""
        return [
            self._checked(base, variant(base.call, configuration), results)
            for base, results in zip(job.bases, job.results, strict=True)
        ]

    def _checked(
        self, base: "run.SuiteCall", call: "launching.Call", results: "run.Memory"
    ) -> Callable[[int], list[float]]:
        try:
            memory = base.fresh()
            given = launching.arguments(call, memory)
            start = launching.prepared(call, self.new_folder())
            start(given)
            self.device.interface.synchronize()
            before = base.fresh() if base.restored else {}
            begun = {name: before[name] for name in base.restored}
        except Exception as error:
            text = candidates.told(error)
            if "CUDA error" in text:
                raise DeviceLost(f"{call.kernel} with {call.options}: {text}") from error
            raise configuration_files.CannotTry(text) from error
        why = candidates.difference(call, results, memory)
        if why is not None:
            raise configuration_files.CannotTry(f"other results: {why}")

        def prepare() -> None:
            for name, contents in begun.items():
                memory[name].copy_(contents)
            self.device.clear_cache()

        return lambda count: self.device.times(partial(start, given), prepare, count)[0]


# ---- The search ----


def try_configurations(tuner: Tuner, job: Job) -> None:
    """Measure the recorded configuration, and then the job's others, into `job.tried`.

    Raises:
        CannotTry: the recorded configuration itself cannot be launched, or its results change.
    """
    tuner.prepare(job)
    base = recorded(job)
    job.tried[base] = tuner.time(job, base)
    for one in job.known.get("configurations", ()):
        values = {**one.get("constants", {}), **one.get("options", {})}
        measure(tuner, job, with_values(job, values, one.get("grid", ())))
    search(tuner, job, job.known.get("space", {}))


def search(tuner: Tuner, job: Job, space: Mapping[str, Sequence[Any]]) -> None:
    """Change one value after another, keep what is faster, until nothing is for a whole turn."""
    unchanged = 0
    for name, values in cycle(space):
        best = fastest(job)
        current = dict(best.constants + best.options)
        for value in values:
            measure(tuner, job, with_values(job, current | {name: value}))
        unchanged = 0 if fastest(job) != best else unchanged + 1
        if unchanged >= len(space):
            return


def cycle(space: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the names of a space with their values, over and over; nothing for an empty one."""
    while space:
        yield from space.items()


def measure(tuner: Tuner, job: Job, configuration: Configuration) -> None:
    """Measure a configuration that was not tried yet, or note why it cannot be tried."""
    base = recorded(job)
    known = {str(one) for one in job.tried} | set(job.refused)
    if str(configuration) in known:
        return
    fixed = {"ttir": configuration.constants != base.constants, "ttgir": True}
    if fixed.get(job.calls[0].stage):
        job.refused[str(configuration)] = "fixed in the recorded IR: make the suite with --source"
        return
    try:
        job.tried[configuration] = tuner.time(job, configuration)
    except configuration_files.CannotTry as problem:
        job.refused[str(configuration)] = str(problem)


def fastest(job: Job) -> Configuration:
    """Return the fastest configuration so far."""
    return min(job.tried, key=lambda one: job.tried[one])


def tuned(tuner: Tuner, job: Job) -> dict[str, Any]:
    """Try a job's configurations, and return what came of it as values for JSON."""
    base = recorded(job)
    outcome = {
        "entries": [entry["name"] for entry in job.entries],
        "share": sum(entry["share"] for entry in job.entries),
        "kernel": job.calls[0].kernel,
        "recorded": str(base),
        "refused": job.refused,
    }
    try:
        try_configurations(tuner, job)
        ranked = sorted((one for one in job.tried if one != base), key=lambda one: job.tried[one])
        rounds = tuner.rounds(job, [base, *ranked[:FINALISTS]])
    except configuration_files.CannotTry as problem:
        return outcome | {"outcome": "not tuned", "why": str(problem)}
    if not ranked:
        why = "no other configuration can be tried"
        return outcome | {"outcome": "not tuned", "why": why}
    best = min(ranked[:FINALISTS], key=lambda one: statistics.median(rounds[one]))
    ratios = sorted(ours / theirs for ours, theirs in zip(rounds[best], rounds[base], strict=True))
    tenth = len(ratios) // 10
    least = 1 - ratios[-1 - tenth]
    is_gain = least >= LEAST_GAIN
    chosen = best if is_gain else base
    return outcome | {
        "outcome": "gain" if is_gain else "no gain",
        "tried": len(ranked),
        "best": str(best),
        "chosen": dict(chosen.constants + chosen.options),
        "recorded_ns": statistics.median(rounds[base]),
        "best_ns": statistics.median(rounds[best]),
        "gain": 1 - statistics.median(ratios),
        "gain_range": [least, 1 - ratios[tenth]],
    }


# ---- Jobs ----


def jobs(configs: Mapping[str, Any], pattern: str) -> list[Job]:
    """Return the jobs of the suite's entries whose name or kernel matches a pattern.

    Raises:
        CannotTry: there are none.
    """
    suite = json.loads((FOLDER / "suite.json").read_text(encoding="utf-8"))
    grouped: dict[object, Job] = {}
    for entry in suite["entries"]:
        name, kernel = entry["name"], entry["kernel"]
        if not any(fnmatch.fnmatchcase(text, pattern) for text in (name, kernel)):
            continue
        call = candidates.module_of(FOLDER / "calls" / f"{name}.py").CALL
        known = configs.get(name) or configs.get(kernel)
        if known is None and call.stage in ("source", "module"):
            known = KNOWN_SPACES.get(kernel)
        key: object = name
        file = configuration_files.file_of(call, device_name())
        if file is not None:
            key = file
        job = grouped.setdefault(key, Job([], [], known or {"space": WARPS_AND_STAGES}))
        job.entries.append(entry)
        job.calls.append(call)
    if not grouped:
        raise configuration_files.CannotTry(f"no call or kernel of the suite matches {pattern}")
    return list(grouped.values())


def device_name() -> str:
    """Return the GPU's name as torch has it; without one "cpu"."""
    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else "cpu"


# ---- The command line ----


def outcome_text(outcome: Mapping[str, Any]) -> str:
    """Return a sentence on what came of a job."""
    names = " and ".join(outcome["entries"])
    if "best" not in outcome:
        refused = next(iter(outcome.get("refused", {}).items()), None)
        example = f" (as {refused[0]}: {refused[1]})" if refused else ""
        return f"{names}: not tuned: {outcome['why']}{example}"
    low, high = (100 * one for one in outcome["gain_range"])
    times = f"{outcome['recorded_ns'] / 1e3:.2f} to {outcome['best_ns'] / 1e3:.2f} µs"
    measured = f"{100 * outcome['gain']:.1f} % ({low:.1f} to {high:.1f} %)"
    counted = f"{outcome['tried']} tried, {len(outcome['refused'])} refused"
    best, base = outcome["best"], outcome["recorded"]
    if outcome["outcome"] == "gain":
        return f"{names}: {best} instead of {base} saves {measured}: {times} ({counted})"
    return f"{names}: no gain: {base} stays; {best} saves {measured}: {times} ({counted})"


def total_text(outcomes: Sequence[Mapping[str, Any]]) -> str:
    """Return how much of the recorded run all gains together save."""
    saved = sum(one["share"] * one["gain"] for one in outcomes if one["outcome"] == "gain")
    gains = sum(one["outcome"] == "gain" for one in outcomes)
    share = f"{100 * saved:.1f} % of what the run's Triton kernels take"
    return f"{gains} of {len(outcomes)} gain; together they save {share}"


def main() -> int:
    """Tune the calls that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", default="*", help="names of entries or kernels, as 'chunk_*'")
    parser.add_argument("--configs", type=Path, help="a file of configurations to try")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write vLLM's files here")
    parser.add_argument("--clock", choices=("device", "events"), default="device", help="as run.py")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured here")
    options = parser.parse_args()
    own = FOLDER / "configurations.json"
    try:
        path = options.configs or (own if own.exists() else None)
        known = {} if path is None else configuration_files.read_configurations(path)
        chosen = jobs(known, options.calls)
    except configuration_files.CannotTry as problem:
        print(f"tune.py: {problem}", file=sys.stderr)
        return 2
    outcomes: list[Mapping[str, Any]] = []
    files: dict[Path, None] = {}
    code = 0
    with tempfile.TemporaryDirectory() as folder:
        tuner = Tuner(Path(folder), options.clock)
        if tuner.device.device.type == "cpu":
            print("no GPU: the times are those of an evaluator, and say nothing of a device")
        for job in chosen:
            try:
                outcome = tuned(tuner, job)
            except DeviceLost as problem:
                print(f"tune.py: the rest cannot be tuned: {problem}", file=sys.stderr)
                code = 1
                break
            job.bases.clear()
            job.results.clear()  # the device's memory is for the next job
            outcomes.append(outcome)
            print(outcome_text(outcome), flush=True)
            # After each job, which may take minutes: what is stopped keeps what it has.
            try:
                _write_json(options.json, tuner, outcomes)
                files |= _write_files(options.write, job, outcome)
            except (OSError, ValueError) as error:
                print(f"tune.py: results cannot be written: {error}", file=sys.stderr)
                return 2
    print(total_text(outcomes))
    for file in files:
        print(f"wrote {file}: name its folder in VLLM_TUNED_CONFIG_FOLDER")
    return code


def _write_json(file: Path | None, tuner: Tuner, outcomes: Sequence[Mapping[str, Any]]) -> None:
    if file is not None:
        content = {"gpu": tuner.device.described(), "outcomes": outcomes}
        file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _write_files(folder: Path | None, job: Job, outcome: Mapping[str, Any]) -> dict[Path, None]:
    """Write vLLM's file for a job into a folder, if it is for one, and return the file."""
    if folder is None or "chosen" not in outcome:
        return {}
    chosen = [(job.calls[0], outcome["chosen"])]
    return dict.fromkeys(configuration_files.write_files(folder, device_name(), chosen))


if __name__ == "__main__":
    sys.exit(main())

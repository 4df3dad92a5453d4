"""Timing of a suite's calls on a GPU, and of candidates for its kernels; needs torch and Triton.

    python run.py                                     # all calls, five rounds
    python run.py --calls '*rms*' --json result.json
    python run.py --candidate FILE:rms_norm_forward

Before each launch, the L2 cache is made as the recorded launch found it, if that is known, else (or
with --cache cleared) it is cleared, as triton.testing.do_bench does; meanwhile the launch gets into
its queue, so that launching is not in the time. Calls come in another order in each round. The time
is the kernel's on the device, by its own timestamps (torch.profiler), as a recorded timeline has
them; --clock events takes do_bench's CUDA events, which add some microseconds to each launch. With
--warm, launches are timed a second time with the cache as the launch before left it.

Exit code: 0; 1 if a candidate is wrong or a call cannot be launched; 2 for bad arguments.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from kvtrace.addons.suite import cache, candidates, device, results
    from kvtrace.converters.scripts import launching
else:  # the files beside this one: a suite needs no kvtrace
    import cache
    import candidates
    import device
    import launching
    import results

FOLDER = Path(__file__).resolve().parent
#: Time on the device of the launches of a call that are timed in one round, and their number.
ROUND_NS = 30_000_000
FEWEST, MOST = 10, 200
#: The same where the cache is made as recorded, which takes a launch for each touch.
FEWEST_TOUCHED = 64
#: Contents are kept on the device between rounds while they take at most this share of its memory.
KEPT_SHARE = 0.25
#: Options that the result has.
SETTINGS = ("rounds", "seed", "clock", "cache", "warm")

Memory = dict[str, torch.Tensor]


# ---- A call ----


class SuiteCall:
    """A call of the suite, compiled; it makes new storages, and launches on them."""

    def __init__(
        self, entry: Mapping[str, Any], on: device.Device, folder: Path, seed: int
    ) -> None:
        path = FOLDER / "calls" / f"{entry['name']}.py"
        self.call: launching.Call = candidates.module_of(path).CALL
        self._device = on
        self._seed = seed
        (folder / entry["name"]).mkdir()
        self.start = launching.prepared(self.call, folder / entry["name"])
        self._kept: Memory | None = None
        #: Digests of what the first launch left in storages that it changed.
        self.results: dict[str, str] = {}
        #: Storages to be as before again for each launch: its results depend on them.
        self.restored: tuple[str, ...] = ()
        #: How many launches are timed in a round.
        self.count = FEWEST
        #: What the device touches before a launch; empty: the cache is cleared.
        self.before = [cache.touch_of(text) for text in entry.get("before", ())]

    @property
    def nbytes(self) -> int:
        """The size of all storages."""
        return sum(storage.nbytes for storage in self.call.storages.values())

    def keep(self) -> None:
        """Keep the contents that launches begin with on the device, rather than make them again."""
        self._kept = self.fresh()

    def fresh(self) -> Memory:
        """Return new storages on the device, with the contents that a launch begins with."""
        if self._kept is not None:
            return {name: storage.clone() for name, storage in self._kept.items()}
        return {
            name: launching.filled(self.call, storage, self._seed + number).to(self._device.device)
            for number, (name, storage) in enumerate(self.call.storages.items())
        }

    def arguments(self, memory: Memory) -> dict[str, Any]:
        """Return the recorded arguments by name, on these storages."""
        return launching.arguments(self.call, memory)

    def launch_once(self) -> Memory:
        """Launch on new storages, note which of them are written, and return them."""
        memory = self.fresh()
        before, given = candidates.digests(memory), self.arguments(memory)
        self.start(given)
        after = candidates.digests(memory)
        self.results = {name: after[name] for name in memory if after[name] != before[name]}
        return memory

    def examine(self) -> bool:
        """Launch again: note what must be restored, and return whether results are the same."""
        memory = self.launch_once()
        self.start(self.arguments(memory))
        again = candidates.digests({name: memory[name] for name in self.results})
        self.restored = tuple(
            name for name, digest in self.results.items() if again[name] != digest
        )
        return self.repeats()

    def repeats(self) -> bool:
        """Return whether a launch on new storages leaves the same bytes as the first one."""
        memory = self.fresh()
        self.start(self.arguments(memory))
        found: dict[str, str] = candidates.digests({name: memory[name] for name in self.results})
        return found == self.results


# ---- Runs ----


class Run:
    """A run of chosen calls on one device."""

    def __init__(self, options: argparse.Namespace, index: Mapping[str, Any]) -> None:
        pairs = chosen(options, index)
        self.functions = {entry["name"]: function for entry, function in pairs}
        self.entries = {entry["name"]: entry for entry, _ in pairs}
        self.measured = {name: measured_of(entry) for name, entry in self.entries.items()}
        self.options = options
        self.device = device.Device(options.clock)
        self.calls: dict[str, SuiteCall] = {}
        #: Times by the call's name, whether it is the candidate's, and whether the cache is warm.
        self.times: dict[tuple[str, bool, bool], list[list[float]]] = {}

    @property
    def has_gpu(self) -> bool:
        """Launches take a device's time."""
        return str(self.device.device.type) != "cpu"

    def run(self, folder: Path) -> None:
        """Compile and launch every call, then time them in rounds."""
        for name in self.entries:
            self._guarded(name, lambda name: self._examine(name, folder))
        if not self.has_gpu:
            return
        self._keep()
        order = random.Random(self.options.seed)  # noqa: S311 - an order, no secret
        for number in range(self.options.rounds):
            print(f"round {number + 1} of {self.options.rounds}", file=sys.stderr, flush=True)
            names = [name for name in self.calls if self.measured[name].status != "failed"]
            for name in order.sample(names, len(names)):
                self._guarded(name, lambda name: self._visit(name, order))
        for (name, is_candidate, is_warm), rounds in self.times.items():
            measured = self.measured[name]
            timed = measured.candidate if is_candidate else measured
            if measured.status == "failed" or timed is None:
                continue
            setattr(timed, "warm" if is_warm else "time", results.times_of(rounds))

    def _guarded(self, name: str, work: Callable[[str], None]) -> None:
        """Do something with a call; an error is its result."""
        try:
            work(name)
            self.device.interface.synchronize()
        except candidates.BadArgument:
            raise
        except Exception as error:  # noqa: BLE001 - of the compiler, the driver or the allocator
            measured = self.measured[name]
            measured.status, measured.why = "failed", candidates.told(error)

    def _examine(self, name: str, folder: Path) -> None:
        entry, measured = self.entries[name], self.measured[name]
        call = SuiteCall(entry, self.device, folder, self.options.seed)
        if self.options.cache == "cleared":
            call.before = []
        measured.cache = "recorded" if call.before else "cleared"
        if self.has_gpu:
            measured.repeats = call.examine()
        else:  # one launch takes the evaluator long enough
            call.launch_once()
        measured.results = call.results
        self.calls[name] = call
        function = self.functions[name]
        if function is not None:
            measured.candidate = self._trial(call, function)
        if self.has_gpu:
            measured.status = "timed"
            call.count = self._count(call)

    def _trial(self, call: SuiteCall, function: candidates.Function) -> results.Trial:
        """Launch a candidate once, and compare what it leaves with what the kernel leaves."""
        expected, found = call.fresh(), call.fresh()
        call.start(call.arguments(expected))
        launch = candidates.candidate_launch(function, call.call, call.arguments(found))
        try:
            launch()
            self.device.interface.synchronize()
        except Exception as error:  # noqa: BLE001 - whatever the candidate raises
            return results.Trial(function.label, "failed", candidates.told(error))
        why = candidates.difference(call.call, expected, found)
        return results.Trial(function.label, "right" if why is None else "wrong", why)

    def _count(self, call: SuiteCall) -> int:
        """Return how many launches of a call are timed in a round."""
        memory = call.fresh()
        given = call.arguments(memory)
        times, _ = self.device.times(lambda: call.start(given), self.device.clear_cache, 5)
        count = round(ROUND_NS / max(1.0, sorted(times)[2]))
        return FEWEST_TOUCHED if call.before else max(FEWEST, min(MOST, count))

    def _keep(self) -> None:
        """Keep contents on the device, the smallest ones first."""
        room = KEPT_SHARE * torch.cuda.get_device_properties(self.device.device).total_memory
        for call in sorted(self.calls.values(), key=lambda call: call.nbytes):
            room -= call.nbytes
            if room < 0:
                break
            call.keep()

    def _visit(self, name: str, order: random.Random) -> None:
        """Time a call and its candidate once, in an order of chance."""
        call, measured = self.calls[name], self.measured[name]
        measured.repeats = measured.repeats and call.repeats()
        kinds = [False]
        trial = measured.candidate
        if trial is not None and trial.verdict == "right":
            kinds = order.sample([False, True], 2)
        for is_candidate in kinds:
            try:
                self._time(call, name, is_candidate)
            except Exception as error:
                if trial is None or not is_candidate:
                    raise
                trial.verdict, trial.why = "failed", candidates.told(error)

    def _time(self, call: SuiteCall, name: str, is_candidate: bool) -> None:
        memory, measured = call.fresh(), self.measured[name]
        given = call.arguments(memory)
        begun = {storage: memory[storage].clone() for storage in call.restored}

        def restore() -> None:
            for storage, contents in begun.items():
                memory[storage].copy_(contents)

        def launch() -> object:
            return call.start(given)

        trial = measured.candidate if is_candidate else None
        function = self.functions[name]
        if trial is not None:
            assert function is not None
            launch = candidates.candidate_launch(function, call.call, given)
        device.repeat(3, restore, launch)  # compiled and tuned before, but not on these storages
        for is_warm in (False, True) if self.options.warm else (False,):
            last: device.Launch = self.device.occupy if is_warm else self.device.clear_cache
            if call.before and not is_warm:
                last = partial(self.device.cache.restore, call.before, memory)
            times, clock = self.device.times(
                launch, partial(device.repeat, 1, restore, last), call.count
            )
            self.times.setdefault((name, is_candidate, is_warm), []).append(times)
            timed: results.Trial | results.Measured = trial or measured
            timed.clock = clock
        if trial is not None and (why := self._changed(call, launch, memory)) is not None:
            trial.verdict, trial.why = "wrong", why

    def _changed(self, call: SuiteCall, launch: device.Launch, memory: Memory) -> str | None:
        """Return how a candidate's results differ after it was timed: it might do less by then."""
        expected = call.fresh()
        for name, contents in expected.items():
            memory[name].copy_(contents)
        launch()
        call.start(call.arguments(expected))
        why = candidates.difference(call.call, expected, memory)
        return None if why is None else f"after it was timed, {why}"


def chosen(
    options: argparse.Namespace, index: Mapping[str, Any]
) -> list[tuple[Mapping[str, Any], candidates.Function | None]]:
    """Return the entries to run, each with the candidate that is for it."""
    functions = [] if options.candidate is None else candidates.candidates_of(options.candidate)
    pairs = candidates.chosen(index["entries"], options.calls, functions)
    if functions and index["weighed_by"] == "device time":
        # What a candidate saves follows from the shares of the calls that it is for.
        return [(entry, function) for entry, function in pairs if function is not None]
    return pairs


def measured_of(entry: Mapping[str, Any]) -> results.Measured:
    """Return what is known of a call before it is launched."""
    return results.Measured(
        entry["name"], entry["kernel"], entry["title"], entry["launches"], entry["share"],
        entry["median_ns"], entry["device_ns"],
    )  # fmt: skip


def run_here(options: argparse.Namespace, index: Mapping[str, Any]) -> results.Result:
    """Run the chosen calls on the device that Triton launches on."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, index)
        gpu = run.device.described()
        before = run.device.state() if run.has_gpu else None
        run.run(Path(folder))
        if run.has_gpu:
            gpu |= {"before": before, "after": run.device.state()}
    suite = {name: index[name] for name in ("source", "weighed_by", "device_ns")}
    settings = {name: getattr(options, name) for name in SETTINGS}
    gpus, calls = [gpu] if run.has_gpu else [], list(run.measured.values())
    summary = results.summary_of(suite, calls)
    return results.Result(results.VERSION, suite, settings, gpus, calls, summary)


def main() -> int:
    """Run what the command line asks for, print it, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds over all calls (default: 5)")
    parser.add_argument(
        "--calls", action="append", default=[], metavar="GLOB",
        help="only calls with such names; may be repeated",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="also write the results as JSON")
    parser.add_argument(
        "--candidate", metavar="FILE:FUNCTION",
        help="compare and time a function, all of a file, or of the files of a folder",
    )  # fmt: skip
    parser.add_argument("--warm", action="store_true", help="also time without clearing the cache")
    parser.add_argument(
        "--cache", choices=("recorded", "cleared"), default="recorded",
        help="the L2 cache before a launch: as recorded, if known, or cleared (default: recorded)",
    )  # fmt: skip
    parser.add_argument(
        "--clock", choices=("device", "events"), default="device",
        help="timestamps of the device, or events around a launch, as do_bench (default: device)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of random contents and of the order")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds has to be at least 1")
    index = json.loads((FOLDER / "suite.json").read_text(encoding="utf-8"))
    try:
        result = run_here(options, index)
    except candidates.BadArgument as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    if options.json is not None:
        text = json.dumps(asdict(result), indent=1)
        Path(options.json).write_text(f"{text}\n", encoding="utf-8")
    print("\n".join(results.lines_of(result)))
    return 0 if result.is_good else 1


if __name__ == "__main__":
    sys.exit(main())

"""Blocks `kernel/<kernel>`: autotuning trials of a kernel, and load times of its binaries.

A kernel with neither has no block. Both are measured: a trial's median is over executions on the
device (`converters/profile/autotune.py`), and null if none were recorded.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, TypedDict

from kvtrace.converters.profile import autotune
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context

__all__ = ["SOURCE", "KernelBlock"]


class Trial(TypedDict):
    """A configuration; its time is on the device, without the first trial; None: not recorded."""

    variant: int
    configuration: Mapping[str, str]
    launches: int
    median_ns: float | None
    kept: bool


class Tuning(TypedDict):
    """The trials of a kernel on one set of arguments, fastest first, and `why` one was chosen."""

    run: int
    arguments: str
    trials: list[Trial]
    why: str


class Load(TypedDict):
    """A load of a variant's binary onto a device, with its duration."""

    variant: int
    duration_ns: int


class KernelBlock(TypedDict):
    """The block `kernel/<kernel>`."""

    measured: bool
    loads: list[Load]
    tunings: list[Tuning]


#: (run, kernel_id) → variant of the report.
Places = Mapping[tuple[int, int], int]


def _blocks(context: Context) -> Iterable[Block]:
    report = context.report
    places = {(v.run, v.kernel_id): index for index, v in enumerate(report.variants)}
    content: dict[int, KernelBlock] = {}
    for kernel, tuning in _tunings(context, places):
        _entry(content, kernel)["tunings"].append(tuning)
    for variant, duration in _loads(context, places):
        load = Load(variant=variant, duration_ns=duration)
        _entry(content, report.variants[variant].kernel)["loads"].append(load)
    for kernel in sorted(content, key=lambda index: (-report.kernels[index].host_ns, index)):
        yield Block(f"kernel/{kernel}", partial(json_block, content[kernel]))


def _entry(content: dict[int, KernelBlock], kernel: int) -> KernelBlock:
    return content.setdefault(kernel, {"measured": True, "loads": [], "tunings": []})


def _tunings(context: Context, places: Places) -> Iterable[tuple[int, Tuning]]:
    """Yield each tuning with its kernel of the report."""
    if "autotune" not in context.report.phases:
        return
    runs = {run.run_id: index for index, run in enumerate(context.runs)}
    for tuning in autotune.read_tunings(context.trace, context.runs):
        run = runs[tuning.run]
        trials = [_trial(trial, places[run, trial.kernel_id]) for trial in tuning.trials]
        kernel = context.report.variants[trials[0]["variant"]].kernel
        yield kernel, Tuning(run=run, arguments=tuning.arguments, trials=trials, why=tuning.why)


def _trial(trial: autotune.Trial, variant: int) -> Trial:
    """Return a trial; the resources of its variant are in the report."""
    return {
        "variant": variant,
        "configuration": trial.configuration,
        "launches": trial.launches,
        "median_ns": trial.median_ns,
        "kept": trial.kept,
    }


def _loads(context: Context, places: Places) -> Iterable[tuple[int, int]]:
    """Yield each variant with a timed load onto a device, and the time in nanoseconds."""
    for index, run in enumerate(context.runs):
        table = context.trace.table("kernels", (run,), ["kernel_id", "load_ns"])
        rows = zip(table["kernel_id"].to_pylist(), table["load_ns"].to_pylist(), strict=True)
        yield from ((places[index, kernel], ns) for kernel, ns in rows if ns is not None)


SOURCE: Final = BlockSource(
    name="kernel",
    order=5,
    share=0.2,
    noun="kernels' autotuning and loading",
    query="SELECT name, kernel_id, load_ns FROM kernels",
    blocks=_blocks,
)

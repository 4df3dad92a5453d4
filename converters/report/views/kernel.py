"""Blocks `kernel/<kernel>`: autotuning trials of a kernel.

A kernel without trials has no block. The time of a trial is the measured median of its executions
on the device (`converters/profile/autotune.py`), null if not recorded.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, TypedDict

from kvtrace.converters.profile import autotune
from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context


class Trial(TypedDict):
    """A configuration that an autotuner tried; `kept` says whether it was launched afterwards.

    `median_ns` is the median device time without the first trial; None if not recorded.
    """

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


class KernelBlock(TypedDict):
    """The block `kernel/<kernel>`, where `<kernel>` is the kernel's index in the report."""

    measured: bool
    tunings: list[Tuning]


#: (index of the run, kernel_id) → index of the variant in the report.
VariantIndexes = Mapping[tuple[int, int], int]


def _blocks(context: Context) -> Iterable[Block]:
    report = context.report
    variant_indexes = {(v.run, v.kernel_id): index for index, v in enumerate(report.variants)}
    block_by_kernel: dict[int, KernelBlock] = {}
    for kernel, tuning in _tunings(context, variant_indexes):
        block = block_by_kernel.setdefault(kernel, {"measured": True, "tunings": []})
        block["tunings"].append(tuning)
    for kernel in sorted(
        block_by_kernel, key=lambda index: (-report.kernels[index].host_ns, index)
    ):
        yield Block(f"kernel/{kernel}", partial(json_block, block_by_kernel[kernel]))


def _tunings(context: Context, variant_indexes: VariantIndexes) -> Iterable[tuple[int, Tuning]]:
    """Yield the kernel's index in the report and the tuning, for each tuning of the runs.

    Tunings with a variant that is not on the page are left out.
    """
    if "autotune" not in context.report.phases:
        return
    runs = {run.run_id: index for index, run in enumerate(context.runs)}
    for tuning in autotune.read_tunings(context.trace, context.runs):
        run = runs[tuning.run]
        variants = [variant_indexes.get((run, trial.kernel_id)) for trial in tuning.trials]
        trials = [
            _trial(trial, variant)
            for trial, variant in zip(tuning.trials, variants, strict=True)
            if variant is not None
        ]
        if len(trials) < len(variants):
            continue
        kernel = context.report.variants[trials[0]["variant"]].kernel
        yield kernel, Tuning(run=run, arguments=tuning.arguments, trials=trials, why=tuning.why)


def _trial(trial: autotune.Trial, variant: int) -> Trial:
    """Return a trial without resources, which the report has for the variant."""
    return {
        "variant": variant,
        "configuration": trial.configuration,
        "launches": trial.launches,
        "median_ns": trial.median_ns,
        "kept": trial.kept,
    }


SOURCE: Final = BlockSource(
    name="kernel",
    order=5,
    share=0.2,
    noun="kernels' autotuning",
    query="FROM launches WHERE phase = 'autotune'",
    blocks=_blocks,
)

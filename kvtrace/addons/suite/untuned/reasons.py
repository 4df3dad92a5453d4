"""Reasons for which a call is not tuned for its sizes, as far as a trace proves one.

A call is tuned if an autotuner tried configurations on its sizes in this run. Otherwise one of the
causes below is proven by the trace, or it is said why nothing is known:

- an autotuner tried configurations on other sizes, and its key is the same for these;
- its source lists a single configuration, or Inductor's heuristic makes one;
- its library found no file of configurations for it, and took its default, or has a formula and no
  autotuner (`library_files.py`).

Other kernels without an autotuner have no reason: their authors' choice may be the best.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.addons.suite.untuned.autotuners import Autotuner, declared_autotuner
from kvtrace.addons.suite.untuned.library_files import (
    chosen_by_library,
    files_of,
    formula_of,
    lookups,
    lookups_for,
)
from kvtrace.converters.profile.autotune import arguments_text, read_tunings
from kvtrace.converters.profile.specialization import specialization
from kvtrace.figures.identity import SOURCE_COLUMNS, KernelKey, key_of
from kvtrace.schema.runs import plain_rows

if TYPE_CHECKING:
    from kvtrace.converters.profile.autotune import Trial, Tuning
    from kvtrace.schema.trace import Run, Trace

State = Literal["not tuned", "not known"]

#: Origins of kernels that Triton's compiler made for a program.
_ORIGINS: Final = ("jit", "autotune", "inductor", "gluon")
#: Reductions for which Inductor's heuristic makes one configuration on NVIDIA's GPUs, without
#: max_autotune (`reduction` in torch/_inductor/runtime/triton_heuristics.py, torch 2.6 to 2.13).
_SINGLE_REDUCTIONS: Final = ("INNER", "OUTER", "OUTER_TINY")
_SWITCHES: Final = ("max_autotune", "max_autotune_pointwise", "coordinate_descent_tuning")
_NO_SINGLE: Final = (*_SWITCHES, "add_persistent_rblock")
_MOST_DIFFERENCES: Final = 3

#: Columns of `kernels` from which reasons and configurations follow; they are alike on all ranks.
_KERNEL_COLUMNS: Final = (
    "kernel_id", "name", *SOURCE_COLUMNS, "line", "origin", "files", "signature", "target",
    "warp_size", "num_warps", "num_ctas", "num_stages", "options",
)  # fmt: skip

Sizes = tuple[tuple[str, Any], ...]
#: What sources declare of kernels, by the source's hash, the kernel's name and line; a text says
#: why it is not known.
_Declared = dict[tuple[str, str | None, int | None], Autotuner | str | None]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a call is not tuned; calls of a kernel with the same `kind` are one row.

    `configuration` is its configuration, as "BLOCK=128 num_warps=4".
    """

    kind: str
    state: State
    why: str
    configuration: str
    slowdown: float | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a run: its kernel's row of `kernels` and key, its arguments and sizes (`_sizes`).

    It stands for all calls of its kernel, without arguments, if these have the same reason.
    """

    kernel: dict[str, Any]
    key: KernelKey
    args: Sequence[dict[str, Any]]
    sizes: Sizes


class Reasons:
    """Reasons of calls, over runs of one trace.

    Ranks of a job compile the same kernels, whose rows and reasons are then computed once.
    """

    def __init__(self, trace: Trace, runs: Sequence[Run]) -> None:
        """Read the tunings of the runs; errors as `Trace.table`."""
        self._trace = trace
        self._tunings: dict[str, list[Tuning]] = defaultdict(list)
        for tuning in read_tunings(trace, runs):
            self._tunings[tuning.run].append(tuning)
        self._declared: _Declared = {}
        self._kernels: _Kernels | None = None

    def of(self, run: Run, launches: Mapping[int, int]) -> Iterator[tuple[Call, Reason, list[int]]]:
        """Yield the launched calls of a run that are not known to be tuned, why, and their ids.

        `launches` has the number of launches by call id. Errors as `Trace.table`.
        """
        rows = self._trace.table("kernels", [run], _KERNEL_COLUMNS).drop_columns(["run"])
        if self._kernels is None or not rows.equals(self._kernels.rows):
            self._kernels = _Kernels(rows)
        kernels, tunings = self._kernels, self._tunings[run.run_id]
        sources = _Sources(self._trace, run, self._declared)
        by_arguments = kernels.by_arguments(tunings)
        columns = ["call_id", "kernel_id", *(["args"] if by_arguments else [])]
        rows = self._trace.table("calls", [run], columns)
        calls = _calls_with_arguments(rows, kernels, by_arguments)
        trials = _Trials(calls.values(), tunings)
        pairs = zip(rows["call_id"].to_pylist(), rows["kernel_id"].to_pylist(), strict=True)
        alike: dict[tuple[int, int | None], list[int]] = defaultdict(list)
        for call_id, kernel_id in pairs:
            if launches.get(call_id) and kernel_id in kernels.calls:
                alike[kernel_id, call_id if kernel_id in by_arguments else None].append(call_id)
        for (kernel_id, own_id), call_ids in alike.items():
            call = kernels.calls[kernel_id] if own_id is None else calls[own_id]
            key = kernel_id, sources.without_gpu
            if own_id is not None:
                reason = _reason(call, trials, sources)
            elif key in kernels.reasons:
                reason = kernels.reasons[key]
            else:
                reason = kernels.reasons[key] = _reason(call, trials, sources)
            if reason is not None:
                yield call, reason, call_ids


class _Kernels:
    """Rows of `kernels` as calls without arguments, by id, of kernels that Triton's compiler made.

    `reasons` are those of calls whose arguments do not matter, by kernel id and whether the run had
    no GPU.
    """

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self.calls = {
            row["kernel_id"]: Call(row, key_of(row), (), ())
            for row in rows.to_pylist()
            if row["origin"] in _ORIGINS
        }
        self.reasons: dict[tuple[int, bool], Reason | None] = {}
        self._chosen_by_library = {
            kernel_id
            for kernel_id, call in self.calls.items()
            if chosen_by_library(call.key.name, call.key.module)
        }

    def by_arguments(self, tunings: Sequence[Tuning]) -> set[int]:
        """Return the ids of kernels whose calls may have different reasons, given a run's tunings.

        They are those that were tried, and those for which libraries choose by sizes.
        """
        tried_ids = {trial.kernel_id for tuning in tunings for trial in tuning.trials}
        tried = {self.calls[kernel_id].key for kernel_id in tried_ids if kernel_id in self.calls}
        return self._chosen_by_library | {
            kernel_id for kernel_id, call in self.calls.items() if call.key in tried
        }


def _calls_with_arguments(
    rows: pa.Table, kernels: _Kernels, by_arguments: set[int]
) -> dict[int, Call]:
    """Return the calls of the kernels with ids `by_arguments`, by id, from rows of `calls`."""
    if not by_arguments:
        return {}
    chosen = rows.filter(pc.is_in(rows["kernel_id"], pa.array(by_arguments, pa.int64())))
    calls = {}
    for row in chosen.to_pylist():
        of_kernel, args = kernels.calls[row["kernel_id"]], row["args"] or ()
        calls[row["call_id"]] = Call(of_kernel.kernel, of_kernel.key, args, _sizes(args))
    return calls


class _Trials:
    """The trials of a run: calls on which an autotuner tried configurations, by kernel."""

    def __init__(self, calls: Iterable[Call], tunings: Sequence[Tuning]) -> None:
        self._trials: dict[KernelKey, dict[Sizes, dict[int, Trial]]] = defaultdict(dict)
        self._calls: dict[tuple[KernelKey, Sizes], Call] = {}
        medians = {
            (trial.kernel_id, tuning.arguments): trial
            for tuning in tunings
            for trial in tuning.trials
        }
        for call in calls:
            trial = medians.get((call.kernel["kernel_id"], arguments_text(call.args)))
            if trial is not None:
                self._trials[call.key].setdefault(call.sizes, {})[trial.kernel_id] = trial
                self._calls.setdefault((call.key, call.sizes), call)

    def of(self, call: Call) -> Mapping[Sizes, Mapping[int, Trial]]:
        """Return the trials of a call's kernel, by the sizes that they were made on."""
        return self._trials.get(call.key, {})

    def example(self, call: Call, sizes: Sizes) -> Call:
        """Return a call on which the kernel was tried at these sizes."""
        return self._calls[call.key, sizes]


class _Sources:
    """Declared autotuners of a run's kernels, and lookups of files."""

    def __init__(self, trace: Trace, run: Run, declared: _Declared) -> None:
        self._trace, self._declared = trace, declared
        self.without_gpu = run.settings.get("device") == "cpu"
        rows = plain_rows(trace.table("messages", [run], ["code", "text"]))
        self.lookups = lookups(rows)

    def autotuner(self, kernel: Mapping[str, Any]) -> Autotuner | str | None:
        """Return the autotuner in a kernel's recorded source; a text says why it is not known."""
        files = {file["path"]: file["artifact"] for file in kernel["files"] or ()}
        artifact = files.get(kernel["file"])
        key = (str(artifact), kernel["name"], kernel["line"])
        if key not in self._declared:
            self._declared[key] = self._read(artifact, kernel)
        return self._declared[key]

    def _read(self, artifact: str | None, kernel: Mapping[str, Any]) -> Autotuner | str | None:
        content = None if artifact is None else self._trace.artifact(artifact)
        if content is None:
            return "its source was not recorded"
        try:
            text = content.decode("utf-8", "replace")
            return declared_autotuner(text, kernel["name"] or "", kernel["line"])
        except LookupError as error:
            return str(error)


def _sizes(args: Sequence[Mapping[str, Any]]) -> Sizes:
    """Return what of a call's arguments sizes are: shapes of tensors, and integers.

    Other scalars, such as a learning rate, do not change how long a configuration takes.
    """
    return tuple(
        (str(arg["name"]), tuple(arg["shape"] or ()) if arg["scalar"] is None else arg["scalar"])
        for arg in args
        if arg["kind"] in ("tensor", "descriptor")
        or (arg["kind"] == "scalar" and str(arg["scalar"]).lstrip("-").isdigit())
    )


def _reason(call: Call, trials: _Trials, sources: _Sources) -> Reason | None:
    """Return why a call is not known to be tuned for its sizes; None if it is tuned for them."""
    tried = trials.of(call)
    if call.sizes in tried:
        return None
    autotuner = sources.autotuner(call.kernel)
    if tried:
        return _tried_elsewhere(call, tried, trials, autotuner)
    configuration = _text(_own_configuration(call.kernel))
    library = files_of(call.kernel["name"] or "", call.kernel["module"])
    if library is not None and not isinstance(autotuner, Autotuner):
        arguments = {str(arg["name"]): arg for arg in call.args}
        matches = lookups_for(library, arguments, sources.lookups)
        asked = f"{library.library}'s {library.function}"
        if not matches:
            why = f"{asked} chose it, and what it found for these sizes is not recorded"
            return Reason("library", "not known", why, configuration)
        if any(match.batches for match in matches):
            if all(match.batches for match in matches):
                return None
            why = f"{asked} found a file for some of its arguments only"
            return Reason("library", "not known", why, configuration)
        why = f"{asked}({matches[0].arguments}) found no file: the library's default configuration"
        return Reason("default", "not tuned", why, configuration)
    if isinstance(autotuner, Autotuner) and autotuner.configurations != 1 and sources.without_gpu:
        why = "recorded without a GPU, where autotuners time nothing"
        return Reason("no GPU", "not known", why, configuration)
    if isinstance(autotuner, str):
        return Reason("source", "not known", f"{autotuner}, and no trial", configuration)
    if autotuner is None:
        formula = formula_of(call.kernel["module"], _constants(call), call.kernel["num_warps"])
        return None if formula is None else Reason("formula", "not tuned", formula, configuration)
    return _without_trials(call.kernel, autotuner, configuration)


def _constants(call: Call) -> dict[str, int]:
    """Return the integers among a call's arguments and constants, by name."""
    return {
        str(arg["name"]): int(arg["scalar"]) for arg in call.args if str(arg["scalar"]).isdigit()
    }


def _without_trials(kernel: Mapping[str, Any], autotuner: Autotuner, configuration: str) -> Reason:
    if autotuner.configurations == 1:
        why = "its source lists a single configuration, so nothing was tried"
        return Reason("single", "not tuned", why, configuration)
    if not autotuner.by_inductor:
        why = (
            f"its autotuner ({autotuner.name}) tried nothing in this run: the choice came from a "
            "cache, or one configuration was left to choose"
        )
        return Reason("no trials", "not known", why, configuration)
    switched_on = [name for name in _SWITCHES if autotuner.options.get(name)]
    hint = autotuner.options.get("reduction_hint")
    if (
        autotuner.name == "reduction"
        and hint in _SINGLE_REDUCTIONS
        and str(kernel["target"]).startswith("cuda")
        and not any(autotuner.options.get(name) for name in _NO_SINGLE)
        and "max_autotune" in autotuner.options
    ):
        why = (
            f"Inductor's heuristic for {autotuner.name} ({hint}) makes one configuration: "
            "max_autotune and coordinate_descent_tuning are off"
        )
        return Reason("heuristic", "not tuned", why, configuration)
    means = f"with {', '.join(switched_on)}" if switched_on else "without max_autotune"
    why = (
        f"Inductor's {autotuner.name} {means} tried nothing in this run: its heuristic made one "
        "configuration, or the choice came from a cache"
    )
    return Reason("no trials", "not known", why, configuration)


def _tried_elsewhere(
    call: Call,
    tried: Mapping[Sizes, Mapping[int, Trial]],
    trials: _Trials,
    autotuner: Autotuner | str | None,
) -> Reason:
    """Return the reason of a call whose kernel was tried on other sizes alone."""
    nearest = min(tried, key=lambda sizes: len(set(sizes) ^ set(call.sizes)))
    by_key = [
        sizes for sizes in tried if _has_same_key(call, trials.example(call, sizes), autotuner)
    ]
    sizes = by_key[0] if by_key else nearest
    differences = _differences(call.sizes, sizes)
    facts = _facts(call.kernel)
    candidates = [trial for trial in tried[sizes].values() if trial.configuration]
    chosen = [
        trial
        for trial in candidates
        if all(facts.get(name, "-") == value for name, value in trial.configuration.items())
    ]
    configuration = _text(chosen[0].configuration if chosen else _own_configuration(call.kernel))
    where = f"tried only at {differences}"
    if not isinstance(autotuner, Autotuner):
        why = f"{where}; its key is not known: {autotuner or 'its source declares no autotuner'}"
        return Reason("elsewhere", "not known", why, configuration)
    if not autotuner.by_inductor and autotuner.key is None:
        why = f"{where}; its source computes its key"
        return Reason("elsewhere", "not known", why, configuration)
    if not by_key:
        key = ", ".join(autotuner.key or ())
        why = f"{where}, where the key ({key}) or a dtype differs: the choice came from a cache"
        return Reason("elsewhere", "not known", why, configuration)
    if not chosen and len(tried[sizes]) > 1:
        why = f"{where}, and the configuration is none of those that were tried there"
        return Reason("elsewhere", "not known", why, configuration)
    key = (
        "Inductor tunes once" if autotuner.by_inductor else f"key {', '.join(autotuner.key or ())}"
    )
    slowdown = _slowdown(chosen[0], candidates) if chosen else None
    return Reason("other sizes", "not tuned", f"{where} ({key})", configuration, slowdown)


def _has_same_key(call: Call, tried: Call, autotuner: Autotuner | str | None) -> bool:
    """Return whether an autotuner that has tried one call takes its choice for another call.

    Triton's key are the arguments that `key` names, and the dtypes of all tensors.
    """
    if not isinstance(autotuner, Autotuner):
        return False
    if autotuner.by_inductor:
        return True
    if autotuner.key is None:
        return False
    values = [{str(arg["name"]): arg for arg in args} for args in (call.args, tried.args)]
    keys = [
        [
            *((by_name.get(name) or {}).get("scalar") for name in autotuner.key),
            *(arg["dtype"] for arg in by_name.values() if arg["kind"] == "tensor"),
        ]
        for by_name in values
    ]
    return keys[0] == keys[1]


def _differences(sizes: Sizes, tried: Sizes) -> str:
    """Return the sizes that were tried where they differ from a call's, as "T=1024 (here 77)".

    Integers come first, then shapes.
    """
    here = dict(sizes)
    different = [(name, value) for name, value in tried if here.get(name) != value]
    different.sort(key=lambda item: isinstance(item[1], tuple))
    texts = [
        f"{name}={_size_text(value)} (here {_size_text(here.get(name))})"
        for name, value in different
    ]
    more = len(texts) - _MOST_DIFFERENCES
    return ", ".join(texts[:_MOST_DIFFERENCES]) + (f" and {more} more" if more > 0 else "")


def _size_text(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def _facts(kernel: Mapping[str, Any]) -> dict[str, str]:
    """Return a variant's facts, constants by their own names, as in `Trial.configuration`."""
    return {
        name.removeprefix("constexpr "): value for name, value in specialization(kernel).items()
    }


def _text(configuration: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in configuration.items())


def _own_configuration(kernel: Mapping[str, Any]) -> dict[str, str]:
    """Return a variant's constants that are named as a size of a block, warps and stages."""
    return {
        name: value
        for name, value in _facts(kernel).items()
        if name in ("num_warps", "num_stages")
        or (value.isdigit() and name.isupper() and ("BLOCK" in name or "GROUP" in name))
    }


def _slowdown(chosen: Trial, trials: Sequence[Trial]) -> float | None:
    medians = [trial.median_ns for trial in trials if trial.median_ns]
    if chosen.median_ns is None or len(medians) < len(trials):
        return None
    return chosen.median_ns / min(medians) - 1

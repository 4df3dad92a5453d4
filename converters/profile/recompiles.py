"""Compiled variants, the reason for each compilation, and launches that waited for a kernel."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.specialization import Change, changes, specialization
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.figures.recompiled import compiled_here
from kvtrace.figures.times import compiling_launches
from kvtrace.figures.trials import TUNING
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import plain_rows

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Recompile:
    """A compiled variant, in order of compilation, and how the most similar earlier one differs.

    Kernels of several generated files are not variants of each other.
    `changes` is empty for a kernel's first variant, and for a repeated one with the same facts. For
    the latter, `distinguished_by` has the scalars that may be the reason: those whose values in the
    calls of both variants are of different kinds. Triton's key has three kinds: 1, multiples of 16,
    and others. `same_code` is true if the TTIR equals that of the most similar earlier variant.
    """

    kernel: str
    key: KernelKey
    file: str | None
    run: str
    kernel_id: int
    compile_begin: int | None
    compile_ns: int | None
    cache_hit: bool | None
    first: bool
    changes: tuple[Change, ...]
    load_ns: int | None = None
    distinguished_by: tuple[Change, ...] = ()
    same_code: bool = False

    @property
    def recompiled(self) -> bool:
        """The compiler ran although the kernel had a variant; a cache load does not count."""
        return not self.first and compiled_here(self.cache_hit, self.compile_ns)


@dataclass(frozen=True, slots=True)
class HeldLaunch:
    """A launch in which the kernel was compiled, loaded or tuned; times in ns, measured.

    `after_ns` is the begin of the launch, counted from the start of the run, and `waited_ns` the
    duration of the launching function. A `trial` was made by an autotuner, inside another launch.
    """

    run: str
    seq: int
    call_id: int
    after_ns: int | None
    waited_ns: int
    trial: bool
    variant: Recompile


def read_recompiles(trace: "Trace", runs: Sequence["Run"]) -> tuple[Recompile, ...]:
    """Return every compiled variant and the reason for its compilation; errors as `Trace.table`."""
    earlier: dict[
        tuple[str, KernelKey, str | None], list[tuple[dict[str, str], dict[str, Any]]]
    ] = {}
    scalars = _Scalars(trace, runs)
    variants = []
    for row in plain_rows(trace.table("kernels", runs)):
        key = row["run"], key_of(row), row["file"]
        variants_before = earlier.setdefault(key, [])
        facts = specialization(row)
        compared = (
            (changes(facts_before, facts), other) for facts_before, other in variants_before
        )
        differing, nearest = min(compared, key=lambda pair: len(pair[0]), default=((), None))
        alike = nearest is not None and not differing
        variants.append(
            Recompile(
                kernel=row["name"] or "",
                file=row["file"],
                key=key[1],
                run=row["run"],
                kernel_id=row["kernel_id"],
                compile_begin=row["compile_begin"],
                compile_ns=row["compile_ns"],
                cache_hit=row["cache_hit"],
                first=nearest is None,
                changes=differing,
                load_ns=row["load_ns"],
                distinguished_by=scalars.distinguished_by(nearest, row)
                if nearest and alike
                else (),
                same_code=nearest is not None and _first_stage(nearest) == _first_stage(row),
            )
        )
        variants_before.append((facts, row))
    return tuple(variants)


def held_launches(
    trace: "Trace", runs: Sequence["Run"], since: str | None = None
) -> tuple[HeldLaunch, ...]:
    """Return the launches that waited for their kernel, in the order of time.

    Args:
        trace: the trace.
        runs: the runs to look at.
        since: only launches from then on: seconds after the start of the run, or the name of a
            mark, whose first occurrence counts. Runs without such a mark have none.

    Raises:
        BadSetting: no run has a mark of that name.
        DamagedFile, NewerFormat: as the reader of the trace.
    """
    begins = {run.run_id: _beginning(trace, run, since) for run in runs}
    if since is not None and all(begin is None for begin in begins.values()):
        raise BadSetting(
            f"no run has a mark {since!r}; give the name of a kvtrace.mark, or seconds "
            "from the start of the run."
        )
    variants = {(v.run, v.kernel_id): v for v in read_recompiles(trace, runs)}
    launches = []
    for run in runs:
        begin = begins[run.run_id]
        if since is not None and begin is None:
            continue
        kernels = _kernels_of_calls(trace, run)
        for row in _compiling_rows(trace, run):
            variant = variants.get((run.run_id, kernels.get(row["call_id"], -1)))
            if variant is None or (begin is not None and row["enter"] < begin):
                continue
            launches.append(
                HeldLaunch(
                    run=run.run_id,
                    seq=row["seq"],
                    call_id=row["call_id"],
                    after_ns=None if run.started is None else row["enter"] - run.started,
                    waited_ns=row["exit"] - row["enter"],
                    trial=row["phase"] in TUNING,
                    variant=variant,
                )
            )
    return tuple(
        sorted(launches, key=lambda launch: (launch.run, launch.after_ns or 0, launch.seq))
    )


def _first_stage(kernel: Mapping[str, Any]) -> str | None:
    stages = kernel["stages"] or ()
    return stages[0]["artifact"] if stages else None


def _beginning(trace: "Trace", run: "Run", since: str | None) -> int | None:
    """Return the time that `since` names in a run, in ns since 1970, or None."""
    if since is None:
        return None
    try:
        seconds = float(since)
    except ValueError:
        marks = trace.table("marks", [run], ["name", "begin"])
        named = marks.filter(pc.equal(marks["name"].cast(pa.string()), since))["begin"]
        begin: int | None = pc.min(named.cast(pa.int64())).as_py()
        return begin
    return None if run.started is None else run.started + round(seconds * _NANOSECONDS)


def _kernels_of_calls(trace: "Trace", run: "Run") -> dict[int, int]:
    calls = trace.table("calls", [run], ["call_id", "kernel_id"])
    pairs = zip(calls["call_id"].to_pylist(), calls["kernel_id"].to_pylist(), strict=True)
    return {call: kernel for call, kernel in pairs if kernel is not None}


def _compiling_rows(trace: "Trace", run: "Run") -> Iterator[dict[str, Any]]:
    yield from plain_rows(compiling_launches(trace, run))


class _Scalars:
    """Integer arguments of calls by kernel; calls are read on first use."""

    def __init__(self, trace: "Trace", runs: Sequence["Run"]) -> None:
        self._trace = trace
        self._runs = runs
        self._calls: dict[tuple[str, int], list[Mapping[str, Any]]] | None = None

    def distinguished_by(
        self, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> tuple[Change, ...]:
        """Return the scalars with one kind of value in all calls of a variant, and another here."""
        first, second = self._values(before), self._values(after)
        scalars = []
        for name in first.keys() & second.keys():
            kinds = ({_kind(v) for v in values} for values in (first[name], second[name]))
            if set.isdisjoint(*kinds):
                scalars.append(Change(name, str(min(first[name])), str(min(second[name]))))
        return tuple(sorted(scalars, key=lambda change: change.what))

    def _values(self, kernel: Mapping[str, Any]) -> dict[str, set[int]]:
        if self._calls is None:
            self._calls = {}
            rows = self._trace.table("calls", self._runs, ["kernel_id", "args"]).to_pylist()
            for row in rows:
                self._calls.setdefault((row["run"], row["kernel_id"]), []).append(row)
        values: dict[str, set[int]] = {}
        for call in self._calls.get((kernel["run"], kernel["kernel_id"]), ()):
            for name, value in _integers(call["args"] or ()):
                values.setdefault(name, set()).add(value)
        return values


def _integers(args: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    for arg in args:
        text = arg["scalar"]
        if arg["kind"] == "scalar" and text is not None and text.lstrip("-").isdigit():
            yield arg["name"], int(text)


def _kind(value: int) -> str:
    """Return the class of an integer in Triton's key: 1, a multiple of 16, or neither."""
    if value == 1:
        return "one"
    return "multiple of 16" if value % 16 == 0 else "other"

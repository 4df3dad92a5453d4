"""Compiled variants, the reason for each, recompiles, and launches that waited for a kernel.

The reason is what specializes a variant: the facts that distinguish it from others of its kernel.
`kvtrace diff` uses these facts for changes between two traces.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.figures.kernels import compiled_here
from kvtrace.figures.stored import once_per_trace
from kvtrace.figures.tables import known_rows, scratch
from kvtrace.figures.times import compiling_launches
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.features import TRIALS
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.without_ir import TRITON_ORIGINS
from kvtrace.text import count, plural, shorten

_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_COMPILE_FIELDS: Final = ("target", "warp_size", "num_warps", "num_ctas", "num_stages")
#: Folder of an absolute path, such as that of a library that a kernel is linked with.
_FOLDER: Final = re.compile(
    r"(?<![\w.])(?:[A-Za-z]:)?(?:[/\\]+[^/\\'\"\n]+)+[/\\]+(?=[^/\\'\"\n]+)"
)
#: Options that name an identity rather than a choice, and so differ without meaning; versions are
#: those of the whole run.
_IDENTITIES: Final = frozenset({"hash", "cache_key", "name", "cluster_dims_hash", "triton_version"})


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that differs between two variants: `what`, its value in each; None if one lacks it."""

    what: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        before, after = ("(none)" if v is None else v for v in (self.before, self.after))
        return f"{self.what} {before} → {after}"


def specialization(kernel: Mapping[str, Any]) -> dict[str, str]:
    """Return a variant's facts by name: types, constants, divisibility, compile options.

    `kernel` is its row of `kernels`. Names read like `constexpr BLOCK`, `type of x`, `divisibility
    of n`, `num_warps` and `option sanitize_overflow`, in the order of the signature. Files in
    options are named without their folders.
    """
    facts: dict[str, str] = {}
    for parameter in kernel["signature"] or ():
        facts.update(_parameter_facts(parameter))
    for field in _COMPILE_FIELDS:
        if kernel[field] is not None:
            facts[field] = str(kernel[field])
    for key, value in sorted(kernel["options"] or ()):
        if key not in _IDENTITIES and value is not None:
            facts[f"option {key}"] = _FOLDER.sub("…/", without_addresses(value))
    return facts


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the facts that differ, in the order of `before`, then those only in `after`."""
    keys: Iterable[str] = dict.fromkeys((*before, *after))
    return tuple(
        Change(key, before.get(key), after.get(key))
        for key in keys
        if before.get(key) != after.get(key)
    )


def without_addresses(text: str) -> str:
    """Return a text with hexadecimal addresses replaced by "0x…" (reprs of functions have them)."""
    return _ADDRESS.sub("0x…", text)


def _parameter_facts(parameter: Mapping[str, Any]) -> dict[str, str]:
    name = parameter["name"]
    if parameter["type"] == "constexpr" or parameter["constexpr"] is not None:
        return {f"constexpr {name}": without_addresses(str(parameter["constexpr"]))}
    facts = {f"type of {name}": str(parameter["type"])}
    if parameter["divisibility"]:
        facts[f"divisibility of {name}"] = str(parameter["divisibility"])
    return facts


# -- recompiled variants ---------------------------------------------------------------------------


_NANOSECONDS: Final = 1_000_000_000
#: A variant is compared with this many variants before it.
_MOST_COMPARED: Final = 64
#: Longest name and value of a change in a text that is cut, in characters.
_LONGEST: Final = 80
_RECOMPILED: Final = """
    SELECT 1 FROM (SELECT module, name, source, file, count(*) - 1 AS more
        FROM kernels GROUP BY module, name, source, file, run HAVING count(*) > 1)
    GROUP BY module, name, source, file HAVING sum(more) >= ? LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Recompile:
    """A compiled variant of a kernel, and its differences from the most similar earlier variant.

    Kernels from different generated files are not variants of each other. `changes` is empty for a
    kernel's `first` variant, and for a later one with the same facts. For the latter,
    `distinguished_by` has the scalar arguments that may be the reason: their values in the calls of
    the two variants are of different kinds (Triton's key has three: 1, multiples of 16, others).
    `same_code` is true if the TTIR equals that of the most similar earlier variant, whose
    `kernel_id` is `nearest`. Unless it `is_recorded`, nothing says whether the variant was compiled
    or loaded.
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
    nearest: int | None = None
    is_recorded: bool = True

    @property
    def recompiled(self) -> bool:
        """The compiler ran for a further variant; a load from a cache does not count."""
        return not self.first and compiled_here(self.cache_hit, self.compile_ns)

    @property
    def is_same_loaded(self) -> bool:
        """The variant has the code of an earlier one and was loaded from the cache."""
        return (
            self.same_code
            and self.is_recorded
            and not (self.first or self.changes or self.distinguished_by or self.recompiled)
        )

    def reason(self, most: int | None = None) -> str:
        """Return why there is a further variant: what differs, if known, from the nearest one.

        At most `most` changes are listed, with long values cut; None: all of them, whole.
        """
        if self.first:
            return "its first variant"
        if self.changes:
            return _changes_text(self.changes, most)
        if self.is_same_loaded:
            return "same IR, loaded from the cache (not a recompile)"
        if self.distinguished_by:
            scalars = " or ".join(map(str, self.distinguished_by))
            text = f"the compiler's key distinguishes {scalars}"
            return f"{text}, and the TTIR is the same" if self.same_code else text
        code_text = "same IR" if self.same_code else "same options, other IR"
        if not self.is_recorded:
            return f"{code_text}, compiled or loaded"
        return f"{code_text}, {'compiled again' if self.recompiled else 'loaded from the cache'}"


def _changes_text(changed: Sequence[Change], most: int | None) -> str:
    if most is None:
        return "; ".join(map(str, changed))
    texts = [shorten(str(change), _LONGEST) for change in changed[:most]]
    hidden_count = len(changed) - len(texts)
    return "; ".join([*texts, f"{count(hidden_count)} more"] if hidden_count > 0 else texts)


def recompiles_sentence(variants: Sequence[Recompile]) -> str:
    """Return how many kernels were compiled again, and how many variants were only loaded."""
    recompiled = [variant for variant in variants if variant.recompiled]
    further = [variant for variant in variants if not (variant.first or variant.recompiled)]
    loaded_count = sum(variant.is_recorded for variant in further)
    if variants and not any(variant.is_recorded for variant in variants):
        return "whether kernels were compiled or loaded from a cache was not recorded"
    text = "no kernel was compiled more than once"
    if recompiled:
        kernels = {(variant.run, variant.key, variant.file) for variant in recompiled}
        text = f"{plural(len(kernels), 'kernel')} compiled again, {plural(len(recompiled), 'time')}"
    if loaded_count:
        text += f"; {plural(loaded_count, 'further variant')} loaded from the cache"
    if len(further) > loaded_count:
        unrecorded = plural(len(further) - loaded_count, "further variant")
        text += f"; of {unrecorded} it was not recorded whether they were compiled"
    return text


@dataclass(frozen=True, slots=True)
class DelayedLaunch:
    """A launch that waited until its kernel was compiled, loaded or tuned; measured times in ns.

    `after_ns` is the begin of the launch, counted from the start of the run, and `waited_ns` the
    duration of the launching function. A `trial` was made by an autotuner, inside another launch.
    `variant` is the launched variant.
    """

    run: str
    seq: int
    call_id: int
    after_ns: int | None
    waited_ns: int
    trial: bool
    variant: Recompile

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of the kernels that the row is about."""
        return (self.variant.kernel,)


def has_recompiles(trace: Trace, runs: Sequence[Run], least: int) -> bool:
    """Return whether `read_recompiles`, which is slower, would find `least` of one kernel."""
    with scratch() as database:
        rows = known_rows(trace, runs, "kernels", ("module", "name", "source", "file"))
        database.register("kernels", rows)
        return bool(database.execute(_RECOMPILED, [least]).fetchall())


@once_per_trace
def read_recompiles(trace: Trace, runs: Sequence[Run]) -> tuple[Recompile, ...]:
    """Return every variant in the order of the table `kernels`, compared with the earlier ones.

    Errors as `Trace.table`.
    """
    return variants_of(plain_rows(trace.table("kernels", runs)), trace, runs)


def variants_of(
    rows: Iterable[Mapping[str, Any]], trace: Trace, runs: Sequence[Run]
) -> tuple[Recompile, ...]:
    """Return `read_recompiles` from all rows of `kernels` of the runs, in their order."""
    variants_by_kernel: dict[
        tuple[str, KernelKey, str | None], list[tuple[dict[str, str], Mapping[str, Any]]]
    ] = {}
    scalars = _ScalarArguments(trace, runs)
    variants = []
    for row in rows:
        key = row["run"], key_of(row), row["file"]
        variants_before = variants_by_kernel.setdefault(key, [])
        facts = specialization(row)
        comparisons = (
            (changes(facts_before, facts), other)
            for facts_before, other in variants_before[-_MOST_COMPARED:]
        )
        fewest_changes, most_similar = min(
            comparisons, key=lambda pair: len(pair[0]), default=((), None)
        )
        has_same_facts = most_similar is not None and not fewest_changes
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
                first=most_similar is None,
                changes=fewest_changes,
                load_ns=row["load_ns"],
                distinguished_by=scalars.distinguished_by(most_similar, row)
                if most_similar and has_same_facts
                else (),
                same_code=most_similar is not None
                and _first_stage(most_similar) == _first_stage(row),
                is_recorded=row["origin"] in TRITON_ORIGINS
                or any(row[name] is not None for name in ("compile_ns", "cache_hit")),
                nearest=None if most_similar is None else most_similar["kernel_id"],
            )
        )
        variants_before.append((facts, row))
    return tuple(variants)


def delayed_launches(
    trace: Trace, runs: Sequence[Run], since: str | None = None
) -> tuple[DelayedLaunch, ...]:
    """Return the launches that waited for their kernel, by run and in the order of time.

    Args:
        trace: the trace.
        runs: the runs to look at.
        since: leave out earlier launches: seconds after the start of the run, or the name of a
            mark, whose first occurrence counts. Runs without such a mark have no launches.

    Raises:
        BadSetting: no run has a mark of that name, or no kernel has a time of its compilation.
        DamagedFile, NewerFormat: as the reader of the trace.
    """
    _require_compile_times(trace, runs)
    begin_by_run = {run.run_id: _since_ns(trace, run, since) for run in runs}
    if since is not None and all(begin is None for begin in begin_by_run.values()):
        raise BadSetting(
            f"no run has a mark {since!r}: pass the name of a kvtrace.mark, or seconds "
            "after the start of the run"
        )
    variants = {(v.run, v.kernel_id): v for v in read_recompiles(trace, runs)}
    launches = []
    for run in runs:
        begin = begin_by_run[run.run_id]
        if since is not None and begin is None:
            continue
        calls = trace.table("calls", [run], ["call_id", "kernel_id"])
        kernel_by_call = {row["call_id"]: row["kernel_id"] for row in calls.to_pylist()}
        for row in plain_rows(compiling_launches(trace, run)):
            variant = variants.get((run.run_id, kernel_by_call.get(row["call_id"], -1)))
            if variant is None or (begin is not None and row["enter"] < begin):
                continue
            launches.append(
                DelayedLaunch(
                    run=run.run_id,
                    seq=row["seq"],
                    call_id=row["call_id"],
                    after_ns=None if run.started is None else row["enter"] - run.started,
                    waited_ns=row["exit"] - row["enter"],
                    trial=row["phase"] in TRIALS,
                    variant=variant,
                )
            )
    return tuple(
        sorted(launches, key=lambda launch: (launch.run, launch.after_ns or 0, launch.seq))
    )


def _require_compile_times(trace: Trace, runs: Sequence[Run]) -> None:
    columns = ["compile_begin", "load_begin"]
    kernels = trace.table("kernels", runs, columns)
    if kernels.num_rows and all(kernels[name].null_count == len(kernels) for name in columns):
        raise BadSetting(
            f"{trace.path} does not say when its kernels were compiled or loaded, so it is not "
            "known which launches waited for that: kvtrace records it"
        )


def _first_stage(kernel: Mapping[str, Any]) -> str | None:
    stages = kernel["stages"] or ()
    return stages[0]["artifact"] if stages else None


def _since_ns(trace: Trace, run: Run, since: str | None) -> int | None:
    """Return the time that `since` names in a run, in ns since 1970.

    None if `since` is None, the run has no such mark, or its start is not known.
    """
    if since is None:
        return None
    try:
        seconds = float(since)
    except ValueError:
        marks = trace.table("marks", [run], ["name", "begin"])
        mark_begins = marks.filter(pc.equal(marks["name"].cast(pa.string()), since))["begin"]
        begin: int | None = pc.min(mark_begins.cast(pa.int64())).as_py()
        return begin
    return None if run.started is None else run.started + round(seconds * _NANOSECONDS)


class _ScalarArguments:
    """Values of integer arguments in the calls of each variant; calls are read on first use."""

    def __init__(self, trace: Trace, runs: Sequence[Run]) -> None:
        self._trace = trace
        self._runs = runs
        self._calls: dict[tuple[str, int], list[Mapping[str, Any]]] | None = None

    def distinguished_by(
        self, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> tuple[Change, ...]:
        """Return the scalars whose kinds of values in two variants have nothing in common.

        `before` and `after` are the variants' rows of `kernels`. A change has the least value of
        each; changes are sorted by name.
        """
        values_before, values_after = self._values(before), self._values(after)
        scalars = []
        for name in values_before.keys() & values_after.keys():
            kinds = (
                {kind_of(v) for v in values} for values in (values_before[name], values_after[name])
            )
            if set.isdisjoint(*kinds):
                scalars.append(
                    Change(name, str(min(values_before[name])), str(min(values_after[name])))
                )
        return tuple(sorted(scalars, key=lambda change: change.what))

    def _values(self, kernel: Mapping[str, Any]) -> dict[str, set[int]]:
        if self._calls is None:
            self._calls = {}
            rows = self._trace.table("calls", self._runs, ["kernel_id", "args"]).to_pylist()
            for row in rows:
                self._calls.setdefault((row["run"], row["kernel_id"]), []).append(row)
        values: dict[str, set[int]] = {}
        for call in self._calls.get((kernel["run"], kernel["kernel_id"]), ()):
            for name, value in integer_arguments(call["args"] or ()):
                values.setdefault(name, set()).add(value)
        return values


def integer_arguments(args: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """Yield name and value of each integer among recorded arguments, constants left out."""
    for arg in args:
        text = arg["scalar"]
        if arg["kind"] == "scalar" and text is not None and text.lstrip("-").isdigit():
            yield arg["name"] or "", int(text)


def kind_of(value: int) -> str:
    """Return an integer's kind in Triton's key: "one", "multiple of 16" or "other"."""
    if value == 1:
        return "one"
    return "multiple of 16" if value % 16 == 0 else "other"

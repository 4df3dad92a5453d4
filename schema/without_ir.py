"""Kernels that cannot be evaluated or judged: those without generic IR, whoever recorded them.

kvtrace evaluates generic TTIR, which an installed Triton makes of TTIR, or the generic TTGIR of a
kernel written in Gluon. A kernel has none if another tool recorded only its executions, or if
another producer wrote the trace without. Kernels in Gluon whose programs have several thread blocks
are not evaluated. Producers may leave out the origin, so a kernel without one is Triton's only if
its TTIR was recorded. Kernels of add-ons' languages have none either, but their backends evaluate
them while the program runs, which leaves rows in `ops` or `accesses`. They are judged by the rules
of the pass that wrote these rows, if it has any.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from kvtrace import registry
from kvtrace.schema.layout import GLUON, IMPORTED, pass_parts, run_folder

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: The stages that are evaluated, of which a kernel has one.
EVALUATED_STAGES: Final = ("ttir_generic", "ttgir_generic")
#: The IR before the passes that make TTIR, recorded where they removed loads.
BEFORE_PASSES: Final = "source_generic"
#: The stage of which Triton makes the first of them.
PRINTED_TTIR: Final = "ttir"
#: Origins of kernels that Triton's compiler made.
TRITON_ORIGINS: Final = ("jit", "inductor", "autotune", GLUON, "interpreter")
#: Tables with rows of the calls that a backend evaluated while the program ran.
_EVALUATED: Final = ("ops", "accesses")
#: Whether all kernels of a sealed run of an opened trace have an origin that is evaluated.
_EVALUATED_ALL: Final[WeakKeyDictionary["Trace", dict[str, bool]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class KernelWithoutIr:
    """A kernel without TTIR: its name, its origin and the ids of its calls.

    `origin` is None where the producer does not say. `source` is the tool of an imported run,
    `stages` are the names of what was recorded of the kernel's compilation. `ctas` is the number of
    thread blocks of a program. `evaluated`: its backend evaluated it while the program ran.
    """

    name: str
    origin: str | None
    calls: tuple[int, ...]
    source: str | None = None
    stages: tuple[str, ...] = ()
    evaluated: bool = False
    ctas: int | None = None

    @property
    def maker(self) -> str:
        """The producer of the kernel, as the trace names it."""
        if self.origin is None:
            return "of unknown origin"
        return f"imported from {self.source}" if self.origin == IMPORTED else f"from {self.origin}"

    @property
    def reason(self) -> str:
        """The reason that the kernel's calls are neither evaluated nor judged, as a phrase."""
        if self.origin == GLUON:
            return not_evaluated(self.name, several_blocks(self.ctas) or _NOT_RECORDED)
        if self.evaluated:
            return (
                f"it is {self.maker}, was evaluated while the program ran, and has no TTIR, which "
                "is the IR that rules judge"
            )
        if PRINTED_TTIR in self.stages:
            return (
                f"it is {self.maker}, and its TTIR is evaluated in generic form, which an "
                "installed Triton makes of it; there is none here"
            )
        recorded = f" (of its compilation: {', '.join(self.stages)})" if self.stages else ""
        return (
            f"it is {self.maker}, and the trace has no TTIR of it{recorded}, which is the IR that "
            "is evaluated and judged"
        )


_NOT_RECORDED: Final = "its TTGIR was not recorded in generic form"


def not_evaluated(kernel: str, reason: str) -> str:
    """Return the sentence on a kernel in Gluon whose calls are neither evaluated nor judged."""
    return f"kernel {kernel}, which is written in Gluon, is not evaluated: {reason}"


def several_blocks(count: int | None) -> str | None:
    """Return why a kernel in Gluon whose programs have so many blocks is not evaluated, or None."""
    if count is None or count < 2:
        return None
    return f"its programs are clusters of {count} thread blocks"


@cache
def makes_generic_ttir() -> bool:
    """Return whether a Triton is installed, which makes generic TTIR of TTIR."""
    return find_spec("triton") is not None


def made_generic(ttir: str, version: str | None) -> str:
    """Return TTIR, as that version of Triton printed it, in the generic form that is evaluated.

    Raises:
        KvtraceError: the installed Triton cannot read the text.

    """
    _, generic_form = next(registry.loaded("generic_forms", PRINTED_TTIR))
    return str(generic_form(ttir, version))


def has_ir(kernel: Mapping[str, Any]) -> bool:
    """Return whether a row of `kernels` has generic IR, or TTIR of which it can be made here."""
    if evaluated_stage(kernel) is not None:
        return True
    return PRINTED_TTIR in recorded_stages(kernel) and makes_generic_ttir()


def recorded_stages(kernel: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the compiler stages that a row of `kernels` has an artifact of."""
    stages = kernel["stages"] or ()
    return tuple(str(stage["stage"]) for stage in stages if stage and stage["artifact"])


def evaluated_stage(kernel: Mapping[str, Any]) -> str | None:
    """Return the recorded stage of a row of `kernels` that is evaluated, or None."""
    recorded = recorded_stages(kernel)
    return next((stage for stage in EVALUATED_STAGES if stage in recorded), None)


def kernels_without_ir(trace: "Trace", run: "Run") -> dict[int, KernelWithoutIr]:
    """Return the kernels of a run that cannot be evaluated, by `kernel_id`.

    A kernel of Triton's compiler whose TTIR was not recorded is not among them: it is a damaged or
    partial record, which is reported for each of its calls.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    kernels = _kernels_without_ttir(trace, run)
    if not kernels:
        return {}
    evaluated = {call for calls, _ in _evaluations(trace, run) for call in calls}
    return {
        kernel_id: kernel
        for kernel_id, kernel in kernels.items()
        if evaluated.isdisjoint(kernel.calls)
    }


def evaluated_without_rules(trace: "Trace", run: "Run") -> tuple[KernelWithoutIr, ...]:
    """Return the kernels without TTIR that were evaluated while the program ran and not judged.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    kernels = _kernels_without_ttir(trace, run)
    evaluations = _evaluations(trace, run) if kernels else ()
    evaluated = {call for calls, _ in evaluations for call in calls}
    judged = {call for calls, has_rules in evaluations if has_rules for call in calls}
    return tuple(
        replace(kernel, evaluated=True)
        for kernel in kernels.values()
        if not (evaluated - judged).isdisjoint(kernel.calls)
    )


def _kernels_without_ttir(trace: "Trace", run: "Run") -> dict[int, KernelWithoutIr]:
    """Return the kernels without generic IR, but those of Triton whose TTIR was not recorded."""
    if _are_all_evaluated(trace, run):
        return {}
    columns = ["kernel_id", "name", "origin", "stages", "num_ctas"]
    rows = {
        row["kernel_id"]: row
        for row in trace.table("kernels", (run,), columns).to_pylist()
        if _lacks_ir(row)
    }
    if not rows:
        return {}
    calls: dict[int, list[int]] = {kernel_id: [] for kernel_id in rows}
    table = trace.table("calls", (run,), ["call_id", "kernel_id"])
    ids = zip(table["call_id"].to_pylist(), table["kernel_id"].to_pylist(), strict=True)
    for call_id, kernel_id in ids:
        if kernel_id in calls:
            calls[kernel_id].append(call_id)
    return {
        kernel_id: KernelWithoutIr(
            str(row["name"] or "?"), row["origin"], tuple(calls[kernel_id]), run.source,
            recorded_stages(row), ctas=row["num_ctas"],
        )
        for kernel_id, row in rows.items()
    }  # fmt: skip


def _lacks_ir(kernel: Mapping[str, Any]) -> bool:
    is_gluon = kernel["origin"] == GLUON
    if is_gluon and several_blocks(kernel["num_ctas"]) is not None:
        return True
    return not has_ir(kernel) and (is_gluon or kernel["origin"] not in TRITON_ORIGINS)


def _are_all_evaluated(trace: "Trace", run: "Run") -> bool:
    """Return whether all kernels are of Triton's compiler, by origins; cached for sealed runs."""
    known = _EVALUATED_ALL.setdefault(trace, {})
    if run.run_id in known:
        return known[run.run_id]
    origins = trace.table("kernels", (run,), ["origin"])["origin"].unique().to_pylist()
    are_all = all(origin in TRITON_ORIGINS and origin != GLUON for origin in origins)
    if run.sealed:
        known[run.run_id] = are_all
    return are_all


def runs_without_ir(trace: "Trace", runs: "Sequence[Run]") -> dict[str, str]:
    """Return the runs of which nothing can be evaluated or judged: why, as a sentence, by run id.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    reasons = {}
    for run in runs:
        kernels = kernels_without_ir(trace, run)
        origins = {kernel.origin for kernel in kernels.values()} - {GLUON}
        if not origins or len(kernels) != trace.table("kernels", (run,), ["kernel_id"]).num_rows:
            continue
        if origins == {IMPORTED}:
            reasons[run.run_id] = (
                f"{run.run_id} was imported from a trace of {run.source}, which has times and no "
                "IR, so there is nothing to evaluate or judge; kvtrace import --into adds its "
                "times to a recording with IR."
            )
        else:
            makers = {kernel.maker for kernel in kernels.values() if kernel.origin != GLUON}
            reasons[run.run_id] = (
                f"{run.run_id} has kernels {', '.join(sorted(makers))} without TTIR, the IR that "
                "is evaluated, so there is nothing to evaluate or judge."
            )
    return reasons


def _evaluations(trace: "Trace", run: "Run") -> tuple[tuple[set[int], bool], ...]:
    """Return the ids of the calls that each pass has evaluated, and whether it judges by rules."""
    # A program's first launch imports this module, and no launch reads Parquet.
    from kvtrace.schema.opened_parts import part_facts, part_footer
    from kvtrace.schema.parts import read_part
    from kvtrace.schema.tables import TABLES

    evaluations = []
    for name in _EVALUATED:
        for path in pass_parts(run_folder(trace.path, name, run.run_id)):
            has_rules = bool(part_facts(part_footer(path), path, name).settings.get("rules"))
            rows = read_part(path, TABLES[name], ["call_id"])
            evaluations.append((set(rows["call_id"].unique().to_pylist()), has_rules))
    return tuple(evaluations)

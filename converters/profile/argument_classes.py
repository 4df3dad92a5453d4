"""Classes of integer arguments by which Triton compiles variants of one kernel apart.

Triton's key has three: 1, multiples of 16, and others; a parameter may be declared not to be
specialized, which recorded variants show: one that took 32 and assumed no divisibility has no class
of multiples of 16.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.converters.profile.recompiles import integer_arguments, kind_of, specialization
from kvtrace.figures.columns import Integers
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Selection, Trace


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A unique call: its trace and rows, integer arguments by name, and its variant's facts.

    A parameter that is an integer in one variant is an integer in all, also where its value 1 was
    compiled in. `facts` are those of `specialization` but for integers of 32 bits.
    """

    trace: Trace
    row: Mapping[str, Any]
    kernel: Mapping[str, Any]
    integers: dict[str, int]
    facts: dict[str, str]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter's classes: are 1, and multiples of 16, compiled apart? None: not known."""

    one: bool | None
    aligned: bool | None

    def classes(self, values: Integers) -> Integers:
        """Return a number for the class of each value; what may be compiled apart counts so."""
        aligned = np.where((values % 16 == 0) & (self.aligned is not False), 16, 0)
        return np.where((values == 1) & (self.one is not False), 1, aligned)


def calls_by_kernel(selections: Iterable[Selection]) -> dict[KernelKey, list[RecordedCall]]:
    """Return the unique calls of each kernel over the runs of some traces."""
    rows: dict[KernelKey, list[tuple[Trace, Mapping[str, Any], Mapping[str, Any]]]] = {}
    for selection in selections:
        kernels = {
            (row["run"], row["kernel_id"]): row for row in plain_rows(selection.table("kernels"))
        }
        for row in plain_rows(selection.table("calls")):
            kernel = kernels.get((row["run"], row["kernel_id"]))
            if kernel is not None and row["args"] is not None:
                rows.setdefault(key_of(kernel), []).append((selection.trace, row, kernel))
    return {key: list(_calls(kernel_rows)) for key, kernel_rows in rows.items()}


def _calls(
    rows: Sequence[tuple[Trace, Mapping[str, Any], Mapping[str, Any]]],
) -> Iterator[RecordedCall]:
    names = {name for _, row, _ in rows for name, _ in integer_arguments(row["args"])}
    shown = {f"{fact} {name}" for fact in ("constexpr", "divisibility of") for name in names}
    facts: dict[int, dict[str, str]] = {}
    for trace, row, kernel in rows:
        integers = {a["name"]: 1 for a in row["args"] if a["name"] in names and a["scalar"] == "1"}
        integers |= dict(integer_arguments(row["args"]))
        if id(kernel) not in facts:
            facts[id(kernel)] = {
                fact: value
                for fact, value in specialization(kernel).items()
                if fact not in shown and (not fact.startswith("type of ") or value != "i32")
            }
        yield RecordedCall(trace, row, kernel, dict(sorted(integers.items())), facts[id(kernel)])


def parameters_of(calls: Sequence[RecordedCall]) -> dict[str, Parameter]:
    """Return the classes of each integer parameter of a kernel, from all its calls."""
    one, aligned = dict[str, bool](), dict[str, bool]()
    kinds_by_variant: dict[tuple[str, str, int], set[str]] = {}
    for call in calls:
        rows = {row["name"]: row for row in call.kernel["signature"] or ()}
        for name, value in call.integers.items():
            row, variant = rows.get(name, {}), (name, call.row["run"], call.row["kernel_id"])
            kinds_by_variant.setdefault(variant, set()).add(kind_of(value))
            if value == 1 and row.get("constexpr") is not None:
                one[name] = True
            elif value % 16 == 0:
                aligned[name] = bool(row.get("divisibility"))
    parameters: dict[str, Parameter] = {}
    for name, *_ in kinds_by_variant:  # a specialized parameter has both classes
        is_one_apart = one.get(name, aligned.get(name) or None)
        parameters[name] = Parameter(is_one_apart, aligned.get(name))
    for (name, *_), kinds in kinds_by_variant.items():
        if "one" in kinds and len(kinds) > 1:  # one variant took 1 and others: not specialized
            parameters[name] = Parameter(one=False, aligned=False)
    return parameters

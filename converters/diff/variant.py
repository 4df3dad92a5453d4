"""Record of a compiled variant of a kernel on one side of a comparison, with its unique calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kvtrace.converters.diff.model import Totals
from kvtrace.converters.profile.recompiles import Change, changes
from kvtrace.figures.identity import KernelKey


@dataclass(frozen=True, slots=True)
class Call:
    """The first of the calls of a variant that are equal but for addresses and recorded values.

    `launches` are those of all these calls.
    """

    run: str
    call_id: int
    launches: int


@dataclass(slots=True)
class Variant:
    """A compiled variant of a kernel, with sums over all runs of its side.

    `stages` has the hash of each stage's text, `position` is the variant's index on its side, and
    `calls` are by a hash of all that is comparable between sides.
    """

    key: KernelKey
    facts: dict[str, str]
    row: Mapping[str, Any]
    stages: dict[str, str]
    position: int = 0
    totals: Totals = field(default_factory=Totals)
    calls: dict[int, Call] = field(default_factory=dict)
    works: dict[int, Totals] = field(default_factory=dict)
    """Launches, bytes and FLOPs by the hash of shapes and scalars, comparable between sides."""

    @property
    def label(self) -> str:
        """The compile-time constants as text, such as "BLOCK=64, CAUSAL=True"."""
        prefix = "constexpr "
        constants = [
            f"{k.removeprefix(prefix)}={v}" for k, v in self.facts.items() if k.startswith(prefix)
        ]
        return ", ".join(constants)

    @property
    def tuned(self) -> bool:
        """An autotuner tried this variant."""
        return self.totals.tuning_launches > 0


def fact_changes(before: Variant, after: Variant) -> tuple[Change, ...]:
    """Return the facts that differ, without options that only later stages of one side add."""
    only_before = before.stages.keys() - after.stages.keys()
    only_after = after.stages.keys() - before.stages.keys()

    def is_of_added_stage(change: Change) -> bool:
        added = only_before if change.after is None else only_after if change.before is None else ()
        return change.what.startswith("option ") and bool(added)

    return tuple(c for c in changes(before.facts, after.facts) if not is_of_added_stage(c))

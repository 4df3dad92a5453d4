"""Rules that add-ons judge whole runs by: the group `kvtrace.run_judges`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace import registry

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class RunJudge:
    """Rules about all calls of a run together.

    Attributes:
        rules: What each rule is about, by its id, as passes write it with their findings.
        findings: Returns the tables `findings` and `stacks` of a run, or None where nothing was
            judged. Its third argument says whether a rule was asked for by its name; otherwise it
            judges what the kernels' source asks for. Rows of a table `artifacts`, one of a kind,
            are what a view shows: the pass's setting `artifacts` has their hashes.

    """

    rules: Mapping[str, Mapping[str, str]]
    findings: Callable[[Trace, Run, bool], Mapping[str, pa.Table] | None]


def run_judges() -> dict[str, RunJudge]:
    """Return the judges of whole runs by their names."""
    return dict(registry.loaded("run_judges"))


def run_rules() -> tuple[str, ...]:
    """Return the ids of their rules. By default they judge what the kernels' source asks for."""
    return tuple(rule for judge in run_judges().values() for rule in judge.rules)

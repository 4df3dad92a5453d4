"""Rules that add-ons and other packages register: the entry point group `kvtrace.rules`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvtrace import registry

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class AddedRules:
    """The rules of one add-on, and the function that judges by them.

    The module that defines an `AddedRules` is imported by every command, so it imports little.

    Attributes:
        rules: Texts of each rule (severity, summary, hint) by the rule's id, as passes write them.
        findings: Judges all calls of a run together: returns the run's tables `findings` and
            `stacks`, or None if nothing was judged. The third argument is true if the user named a
            rule; else `findings` judges only what comments in the kernels' source name. Rows of a
            table `artifacts`, one per kind, are shown in a view: the pass's setting `artifacts`
            has their hashes. None: calls are judged while they run.
        chosen: Whether users choose among these rules, which are all default rules. Otherwise a
            pass of the add-on judges by them and evaluates no calls.
        needs: What has to be recorded for a rule, as a sentence, by the rule's id.

    """

    rules: Mapping[str, Mapping[str, str]]
    findings: Callable[[Trace, Run, bool], Mapping[str, pa.Table] | None] | None = None
    chosen: bool = True
    needs: Mapping[str, str] = field(default_factory=dict)


def added_rules() -> Iterator[tuple[str, AddedRules]]:
    """Yield the name of each add-on's entry point, and the add-on's rules."""
    return registry.loaded("rules")


def watched_rules() -> tuple[str, ...]:
    """Return the ids of rules by which calls are judged while they run."""
    return _ids(lambda added: added.chosen and added.findings is None)


def run_rules() -> tuple[str, ...]:
    """Return the ids of rules by which a whole run is judged."""
    return _ids(lambda added: added.chosen and added.findings is not None)


def pass_rules() -> tuple[str, ...]:
    """Return the ids of rules by which passes judge without evaluating calls."""
    return _ids(lambda added: not added.chosen)


def _ids(is_selected: Callable[[AddedRules], bool]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            rule for _, added in added_rules() if is_selected(added) for rule in added.rules
        )
    )

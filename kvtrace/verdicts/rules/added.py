"""Rules of add-ons and other packages: the group `kvtrace.rules`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace import registry

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class AddedRules:
    """Rules of one add-on, and the function that judges by them; its module imports little.

    Attributes:
        rules: What each rule is about, by its id, as passes write it with their findings.
        findings: Judges all calls of a run together: returns the tables `findings` and `stacks` of
            a run, or None where nothing was judged. Its third argument says whether a rule was
            asked for by its name; otherwise it judges what the kernels' source asks for. Rows of a
            table `artifacts`, one of a kind, are what a view shows: the pass's setting `artifacts`
            has their hashes. None: calls are judged while they run.
        chosen: Whether users choose among these rules, all of which are default ones. Otherwise a
            pass of the add-on's own judges by them, which evaluates no calls.

    """

    rules: Mapping[str, Mapping[str, str]]
    findings: Callable[[Trace, Run, bool], Mapping[str, pa.Table] | None] | None = None
    chosen: bool = True


def added_rules() -> Iterator[tuple[str, AddedRules]]:
    """Yield the rules of each add-on, with the name of its entry."""
    return registry.loaded("rules")


def watched_rules() -> tuple[str, ...]:
    """Return the ids of rules that calls are judged by while they run."""
    return _ids(lambda each: each.chosen and each.findings is None)


def run_rules() -> tuple[str, ...]:
    """Return the ids of rules about whole runs."""
    return _ids(lambda each: each.chosen and each.findings is not None)


def pass_rules() -> tuple[str, ...]:
    """Return the ids of rules of passes that evaluate no calls."""
    return _ids(lambda each: not each.chosen)


def _ids(wanted: Callable[[AddedRules], bool]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(rule for _, each in added_rules() if wanted(each) for rule in each.rules)
    )

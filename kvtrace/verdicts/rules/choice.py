"""Rules by name: those that add-ons and other packages register, and the ones that users select.

Users name rules as in `default,mask-always-true,-race`; packages register theirs in the entry point
group `kvtrace.rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace import registry
from kvtrace.schema.errors import BadSetting, nearest

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
        missing: Returns what a run lacks that has to be recorded for a rule: a sentence on how to
            record it, by the rule's id.

    """

    rules: Mapping[str, Mapping[str, str]]
    findings: Callable[[Trace, Run, bool], Mapping[str, pa.Table] | None] | None = None
    chosen: bool = True
    missing: Callable[[Trace, Run], Mapping[str, str]] = lambda _trace, _run: {}


def added_rules() -> Iterator[tuple[str, AddedRules]]:
    """Yield the name of each add-on's entry point, and the add-on's rules."""
    return registry.loaded("rules")


def rule_ids(names: Iterable[str], observed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the ids of the rules that names select, in the table's order.

    Args:
        names: rule ids, `default` and `all`, also several separated by commas. A `-` before a name
            excludes the rule; if all names have a `-`, the other default rules are selected.
        observed: other rules by which recorded calls were judged while they ran. They are default
            rules and come last, after those of add-ons that judge calls while they run or runs.

    Raises:
        BadSetting: a name is unknown, or no rule is selected.

    """
    from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES, default_rules

    core_rules = (*RULES, *KERNEL_RULES)
    chosen = [added for _, added in added_rules() if added.chosen]
    chosen.sort(key=lambda added: added.findings is not None)
    added = dict.fromkeys((*(rule for added in chosen for rule in added.rules), *observed))
    all_rules = (*core_rules, *(rule for rule in added if rule not in core_rules))
    defaults = {*default_rules(), *all_rules[len(RULES) :]}
    included, excluded = set[str](), set[str]()
    terms = [term.strip() for name in names for term in name.split(",") if term.strip()]
    for term in terms:
        target = excluded if term.startswith("-") else included
        rule = term.removeprefix("-")
        if rule == "default":
            target.update(defaults)
        elif rule == "all":
            target.update(all_rules)
        elif rule in all_rules:
            target.add(rule)
        else:
            listed = ", ".join(all_rules)
            suggestion = nearest(rule, (*all_rules, "default", "all"))
            raise BadSetting(
                f"there is no rule {rule!r}{suggestion}; there are {listed}, default and all."
            )
    if not any(not term.startswith("-") for term in terms):
        included.update(defaults)
    selected = tuple(rule for rule in all_rules if rule in included - excluded)
    if not selected:
        raise BadSetting(
            f"{', '.join(terms)}: this selects no rule; name one that is not excluded."
        )
    return selected

"""Selection of rules from names as users give them: `default,mask-always-true,-race`."""

from collections.abc import Iterable

from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.verdicts.rules.added import run_rules, watched_rules


def rule_ids(names: Iterable[str], observed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the ids of the rules that names select, in the table's order.

    Args:
        names: rule ids, `default` and `all`, also several separated by commas. A `-` before a name
            excludes the rule; if all names have a `-`, the other default rules are selected.
        observed: rules besides `watched_rules` and `run_rules` by which recorded calls were judged
            while they ran. These three groups are default rules, and come last.

    Raises:
        BadSetting: a name is unknown, or no rule is selected.

    """
    from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES, default_rules

    core_rules = (*RULES, *KERNEL_RULES)
    added = dict.fromkeys((*watched_rules(), *run_rules(), *observed))
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


def rule_texts(ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return severity, summary and hint of rules, by id, as stored with a pass's findings."""
    from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES

    texts = {}
    for rule in ((RULES.get(name) or KERNEL_RULES[name]) for name in ids):
        texts[rule.id] = {"severity": rule.severity, "summary": rule.summary, "hint": rule.hint}
        if rule.lint:
            texts[rule.id]["lint"] = "in generated code"
    return texts

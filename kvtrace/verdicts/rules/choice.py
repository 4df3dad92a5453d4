"""Selection of rules from names as users give them: `default,mask-always-true,-race`."""

from collections.abc import Iterable

from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.verdicts.rules.added import run_rules, watched_rules


def rule_ids(names: Iterable[str], observed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the ids of rules, in the table's order.

    Args:
        names: rule ids, `default` and `all`, alone or several separated by commas. A rule whose
            name follows a `-` is excluded; if all names follow a `-`, the other default rules stay.
        observed: rules besides `watched_rules` and `run_rules` by which recorded calls were judged
            while they ran. These three groups are default rules, and come last.

    Raises:
        BadSetting: no rule has a name, or no rule is selected.

    """
    from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES, default_rules

    ours = (*RULES, *KERNEL_RULES)
    added = dict.fromkeys((*watched_rules(), *run_rules(), *observed))
    every = (*ours, *(rule for rule in added if rule not in ours))
    defaults = {*default_rules(), *every[len(RULES) :]}
    included, excluded = set[str](), set[str]()
    parts = [part.strip() for name in names for part in name.split(",") if part.strip()]
    for part in parts:
        group = excluded if part.startswith("-") else included
        rule = part.removeprefix("-")
        if rule == "default":
            group.update(defaults)
        elif rule == "all":
            group.update(every)
        elif rule in every:
            group.add(rule)
        else:
            listed = ", ".join(every)
            like = nearest(rule, (*every, "default", "all"))
            raise BadSetting(
                f"there is no rule {rule!r}{like}; there are {listed}, default and all."
            )
    if not any(not part.startswith("-") for part in parts):
        included.update(defaults)
    selected = tuple(rule for rule in every if rule in included - excluded)
    if not selected:
        raise BadSetting(f"no rule is left to judge by of {', '.join(parts)}.")
    return selected


def rule_texts(ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return severity, summary and hint of rules by id, as a pass writes them with its findings."""
    from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES

    texts = {}
    for rule in ((RULES.get(name) or KERNEL_RULES[name]) for name in ids):
        texts[rule.id] = {"severity": rule.severity, "summary": rule.summary, "hint": rule.hint}
        if rule.lint:
            texts[rule.id]["lint"] = "in generated code"
    return texts

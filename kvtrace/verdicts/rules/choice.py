"""Which rules to judge by, from names as users give them: `default,mask-always-true,-race`."""

from collections.abc import Iterable

from kvtrace.schema.errors import BadSetting, nearest
from kvtrace.verdicts.rules.added import run_rules, watched_rules


def rule_ids(names: Iterable[str], observed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the ids of rules, in the table's order.

    Args:
        names: rule ids, `default` and `all`; one that begins with `-` is left out, whatever names
            it. Where all of them begin so, they are left out of the default ones. One text may have
            several, separated by commas.
        observed: further rules that can be named besides `watched_rules` and `run_rules`, by which
            recorded calls were judged while they ran. All of these are default ones, and they come
            last.

    Raises:
        BadSetting: there is no rule of a name, or none is left.

    """
    from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES, default_rules

    ours = (*RULES, *KERNEL_RULES)
    added = dict.fromkeys((*watched_rules(), *run_rules(), *observed))
    known = (*ours, *(rule for rule in added if rule not in ours))
    usual = {*default_rules(), *known[len(RULES) :]}
    wanted, unwanted = set[str](), set[str]()
    parts = [part.strip() for name in names for part in name.split(",") if part.strip()]
    for part in parts:
        group = unwanted if part.startswith("-") else wanted
        rule = part.removeprefix("-")
        if rule == "default":
            group.update(usual)
        elif rule == "all":
            group.update(known)
        elif rule in known:
            group.add(rule)
        else:
            listed = ", ".join(known)
            like = nearest(rule, (*known, "default", "all"))
            raise BadSetting(
                f"there is no rule {rule!r}{like}; there are {listed}, default and all."
            )
    if not any(not part.startswith("-") for part in parts):
        wanted.update(usual)
    chosen = tuple(rule for rule in known if rule in wanted - unwanted)
    if not chosen:
        raise BadSetting(f"no rule is left to judge by of {', '.join(parts)}.")
    return chosen


def rule_texts(ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return what rules are about, as the pass that judges by them writes it with its findings."""
    from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES

    texts = {}
    for rule in ((RULES.get(each) or KERNEL_RULES[each]) for each in ids):
        texts[rule.id] = {"severity": rule.severity, "summary": rule.summary, "hint": rule.hint}
        if rule.lint:
            texts[rule.id]["lint"] = "in generated code"
    return texts

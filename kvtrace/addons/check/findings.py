"""Rules of the pass `check`: wrong results, and the first NaN or infinity."""

from typing import Final

from kvtrace.verdicts.rules.choice import AddedRules

WRONG: Final = "wrong-result"
NON_FINITE: Final = "first-non-finite"

RULES: Final = {
    WRONG: {
        "severity": "error",
        "summary": "the device stored other values than the kernel's IR means",
        "hint": "try other num_warps and num_stages, or another version of the compiler",
        "page": "docs/check.md",
    },
    NON_FINITE: {
        "severity": "error",
        "summary": "a launch stores a NaN or an infinity, though its inputs have none",
        "hint": "guard the operation that makes the value, or mask the lanes that it comes from",
        "page": "docs/check.md",
    },
}
"""Severity, summary, hint and page of each rule, stored in the trace with the pass."""

ADDED: Final = AddedRules(RULES, chosen=False)

"""Rules of the pass `check`: wrong results, and the first NaN or infinity."""

from typing import Final

from kvtrace.verdicts.rules.added import AddedRules

WRONG: Final = "wrong-result"
NON_FINITE: Final = "first-non-finite"

RULES: Final = {
    WRONG: {
        "severity": "error",
        "summary": "what the device stored is not what the kernel's IR means",
        "hint": "run it with other num_warps and num_stages, or another version of the compiler",
        "page": "docs/check.md",
    },
    NON_FINITE: {
        "severity": "error",
        "summary": "a launch is the first to store a NaN or an infinity, from inputs without",
        "hint": "guard the operation that makes it, or mask the lanes that it comes from",
        "page": "docs/check.md",
    },
}
"""Severity, summary, hint and page of each rule, stored in the trace with the pass."""

ADDED: Final = AddedRules(RULES, chosen=False)

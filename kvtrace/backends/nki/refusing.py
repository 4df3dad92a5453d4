"""`KVTRACE_SANITIZE=raise`: a launch that breaks a rule raises, and its result is not given.

NKI kernels are judged by running them, so what a kernel wrote to its arguments is written.
"""

from typing import Any

from kvtrace.nki.findings import Finding
from kvtrace.nki.launching import Outcome
from kvtrace.schema.errors import KernelDefect


def refusal_of(outcome: Outcome, rules: str) -> KernelDefect | None:
    """Give the error to raise for a launch; None where it breaks no rule of those named.

    `rules` is the setting: names, `default` and `all`, and names after `-`, by commas.
    """
    broken = [
        finding
        for finding in outcome.recorder.findings
        if finding.severity == "error" and _is_judged(finding.rule, rules)
    ]
    if not broken:
        return None
    found = [_as_object(outcome, finding) for finding in broken]
    lines = [
        f"{each['file']}:{each['line']}: error[{each['rule']}]: {each['message']}" for each in found
    ]
    name = outcome.kernel.__name__
    return KernelDefect("\n".join([f"kernel {name} has a defect:", *lines]), found)


def _is_judged(rule: str, rules: str) -> bool:
    names = [name.strip() for name in rules.split(",") if name.strip()]
    if f"-{rule}" in names:
        return False
    wanted = [name for name in names if not name.startswith("-")]
    return not wanted or bool({rule, "default", "all"} & set(wanted))


def _as_object(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    """Give a finding as `kvtrace sanitize --json` lists it, as far as it is known."""
    site = outcome.recorder.sites[finding.site]
    place = site.frames[0] if site.frames else None
    return {
        "rule": finding.rule,
        "verdict": "violation",
        "severity": finding.severity,
        "kernel": outcome.kernel.__name__,
        "file": None if place is None else place.file,
        "line": None if place is None else place.line,
        "access": finding.access or None,
        "arg": finding.argument or None,
        "lane": list(finding.lane) or None,
        "address_offset": finding.address_offset,
        "past_end_bytes": finding.past_end_bytes,
        "lanes": finding.lanes or None,
        "message": finding.message,
    }

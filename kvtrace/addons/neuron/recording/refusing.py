"""`KVTRACE_SANITIZE=raise`: a launch that breaks a rule raises, and its result is not given.

NKI kernels are judged by running them, so what a kernel wrote to its arguments is written.
"""

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

from kvtrace.addons.neuron.findings import RULES, Finding
from kvtrace.addons.neuron.launching import Outcome
from kvtrace.schema.errors import BadSetting, KernelDefect
from kvtrace.verdicts.rules.choice import rule_ids

if TYPE_CHECKING:
    from kvtrace.capture.session import Session


def refused_rules(session: "Session") -> tuple[str, ...]:
    """Return the rules that the session's setting names; the default ones where it is wrong."""
    try:
        return _known(rule_ids([session.settings.rules]))
    except BadSetting as error:
        session.message("warning", "bad-setting", f"{error} Judging by the default rules.")
        return _known(rule_ids(["default"]))


def _known(chosen: Iterable[str]) -> tuple[str, ...]:
    return tuple(rule for rule in chosen if rule in RULES)


def refusal_of(outcome: Outcome, rules: Container[str]) -> KernelDefect | None:
    """Return the error to raise for a launch; None where it breaks none of the rules."""
    broken = [
        finding
        for finding in outcome.recorder.findings
        if finding.severity == "error" and finding.rule in rules
    ]
    if not broken:
        return None
    found = [_as_object(outcome, finding) for finding in broken]
    lines = [
        f"{each['file']}:{each['line']}: error[{each['rule']}]: {each['message']}" for each in found
    ]
    name = outcome.kernel.__name__
    return KernelDefect("\n".join([f"kernel {name} has a defect:", *lines]), found)


def _as_object(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    """Return a finding as `kvtrace sanitize --json` lists it, as far as it is known."""
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

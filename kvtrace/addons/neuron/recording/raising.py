"""`KVTRACE_SANITIZE=raise`: a launch that violates a rule raises instead of returning its result.

NKI kernels are judged by running them, so arguments that the kernel wrote to stay changed.
"""

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

from kvtrace.addons.neuron.findings import RULES, Finding
from kvtrace.addons.neuron.launching import Outcome
from kvtrace.schema.errors import BadSetting, KernelDefect
from kvtrace.verdicts.rules.choice import rule_ids

if TYPE_CHECKING:
    from kvtrace.capture.session import Session


def raised_rules(session: "Session") -> tuple[str, ...]:
    """Return the NKI rules that the settings select; on a bad setting, warn and use the default."""
    try:
        return _nki_rules(rule_ids([session.settings.rules]))
    except BadSetting as error:
        session.message("warning", "bad-setting", f"{error} Judging by the default rules.")
        return _nki_rules(rule_ids(["default"]))


def _nki_rules(rules: Iterable[str]) -> tuple[str, ...]:
    return tuple(rule for rule in rules if rule in RULES)


def defect_of(outcome: Outcome, rules: Container[str]) -> KernelDefect | None:
    """Return the error for a launch with findings of severity error for some rules, or None."""
    violations = [
        finding
        for finding in outcome.recorder.findings
        if finding.severity == "error" and finding.rule in rules
    ]
    if not violations:
        return None
    json_objects = [_json_object(outcome, finding) for finding in violations]
    lines = [
        f"{defect['file']}:{defect['line']}: error[{defect['rule']}]: {defect['message']}"
        for defect in json_objects
    ]
    name = outcome.kernel.__name__
    return KernelDefect("\n".join([f"kernel {name} has a defect:", *lines]), json_objects)


def _json_object(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    """Return a finding in the form of `kvtrace sanitize --json`, as far as its fields are known."""
    site = outcome.recorder.sites[finding.site]
    innermost = site.frames[0] if site.frames else None
    return {
        "rule": finding.rule,
        "verdict": "violation",
        "severity": finding.severity,
        "kernel": outcome.kernel.__name__,
        "file": None if innermost is None else innermost.file,
        "line": None if innermost is None else innermost.line,
        "access": finding.access or None,
        "arg": finding.argument or None,
        "lane": list(finding.lane) or None,
        "address_offset": finding.address_offset,
        "past_end_bytes": finding.past_end_bytes,
        "lanes": finding.lanes or None,
        "message": finding.message,
    }

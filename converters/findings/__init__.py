"""Findings as terminal text, JSON, SARIF and JUnit XML.

`reading.py` is the only reader of the table `findings`: it returns the plain data of `model.py`,
marked where comments in the kernels' source suppress a finding (`suppressions.py`).
`findings_text.py` prints findings for terminals, `sarif.py` for code-scanning services and
`junit.py` for continuous integration. `conditions.py` prints conditions for all sizes, which are
not in a table.
"""

from kvtrace.converters.findings.findings_text import findings_text
from kvtrace.converters.findings.junit import junit
from kvtrace.converters.findings.model import (
    Finding,
    Findings,
    StackFrame,
    Tally,
    finding_objects,
    findings_object,
    others_text,
    without_proven,
)
from kvtrace.converters.findings.reading import observed_rules, read_findings
from kvtrace.converters.findings.sarif import sarif

__all__ = [
    "Finding",
    "Findings",
    "StackFrame",
    "Tally",
    "finding_objects",
    "findings_object",
    "findings_text",
    "junit",
    "observed_rules",
    "others_text",
    "read_findings",
    "sarif",
    "without_proven",
]

"""Findings for people and for programs: text as from a good compiler, JSON, SARIF, JUnit XML.

`reading.py` is the one reader of the table `findings`; it makes the plain data of `model.py`, with
what comments in the kernels' source suppress (`suppressions.py`). The rest prints it:
`findings_text.py` for terminals, `sarif.py` for code-scanning services, `junit.py` for continuous
integration. `conditions.py` is about conditions for all shapes, which are in no table.
"""

from kvtrace.converters.findings.findings_text import findings_text
from kvtrace.converters.findings.junit import junit
from kvtrace.converters.findings.model import (
    Finding,
    Findings,
    StackFrame,
    Tally,
    finding_objects,
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
    "findings_text",
    "junit",
    "observed_rules",
    "read_findings",
    "sarif",
    "without_proven",
]

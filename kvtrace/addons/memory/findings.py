"""The rules of this add-on: memory that nobody wrote, and writes that nobody declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kvtrace.verdicts.rules.added import AddedRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from kvtrace.schema.trace import Run, Trace

READ: Final = "uninitialized-read"
RESULT: Final = "unwritten-result"
DECLARED: Final = "undeclared-write"

RULES: Final = {
    READ: {
        "severity": "warning",
        "summary": "memory is read that nobody wrote since it was allocated",
        "hint": "let the kernel that makes it write all elements, or mask the read by the same "
        "count; kvtrace sanitize --confirm says whether results change",
        "page": "docs/memory.md",
    },
    RESULT: {
        "severity": "note",
        "summary": "a kernel wrote a result in part, and nobody wrote the other elements",
        "hint": "make the buffer as large as what is written, or make it with torch.zeros",
        "page": "docs/memory.md",
    },
    DECLARED: {
        "severity": "warning",
        "summary": "a kernel changes memory that its autotuner does not restore between trials",
        "hint": "add the argument to restore_value or reset_to_zero of triton.autotune",
        "page": "docs/memory.md",
    },
}


def _findings_of(trace: Trace, run: Run, named: bool) -> Mapping[str, pa.Table] | None:
    from kvtrace.addons.memory.judged import findings_of  # listing rules needs no evaluator

    return findings_of(trace, run, named=named)


ADDED: Final = AddedRules(RULES, _findings_of)

"""Contracts in kernels' source: `# kvtrace: invariant over M`, in a kernel or right above it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtrace.converters.findings.suppressions import marked_comments
from kvtrace.converters.source_lines import SourceLines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kvtrace.schema.trace import Run, Trace

_CONTRACT: Final = re.compile(r"#\s*kvtrace:\s*invariant\s+over\s+(\w+)")
_COMMENT: Final = re.compile(r"\s*(#|$)")
_DEFINITION: Final = re.compile(r"\s*(?:async\s+)?(def|class)\b")


@dataclass(frozen=True, slots=True)
class Contract:
    """The quantity over which a kernel's rows must be invariant, and the line of the comment.

    `over` is `rows`, `grid` or the name of an argument.
    """

    over: str
    file: str
    line: int


def contracts_of(trace: Trace, runs: Sequence[Run]) -> Mapping[str, Contract]:
    """Return the contracts of the kernels of runs by the kernels' names.

    The first of several contracts in one kernel counts. Without recorded source the result is
    empty.
    """
    lines = SourceLines(trace, runs)
    kernels = trace.table("kernels", runs, ["name", "file", "line"]).to_pylist()
    contracts_by_kernel: dict[str, Contract] = {}
    for file in dict.fromkeys(row["file"] for row in kernels if row["file"]):
        contracts = list(_contracts_in(file, lines))
        if not contracts:
            continue
        for path, first, last in lines.definitions():
            own = [
                contract
                for contract, counts_to in contracts
                if path == file and contract.line <= last and first <= counts_to
            ]
            for row in kernels if own else ():
                if row["file"] == file and first <= (row["line"] or 0) <= last:
                    contracts_by_kernel.setdefault(row["name"], own[0])
    return contracts_by_kernel


def _contracts_in(file: str, lines: SourceLines) -> Iterator[tuple[Contract, int]]:
    """Return each contract in a file, and the last line of the statement next to the contract."""
    for first_line, block in lines.blocks(file):
        for line, first, last, text in marked_comments(block):
            match = _CONTRACT.search(text)
            if match is not None:
                counts_to = _definition_below(block, first, last)
                yield Contract(match[1], file, line + first_line - 1), counts_to + first_line - 1


def _definition_below(block: Sequence[str], first: int, last: int) -> int:
    """Return the line of the `def` of a comment at a decorator; of others where its statement ends.

    Args:
        block: Lines of source.
        first: Where the comment or its statement begins, a line counted from 1.
        last: Where the statement ends.

    """
    at = next((n for n in range(first, last + 1) if not _COMMENT.match(block[n - 1])), None)
    if at is None or not block[at - 1].lstrip().startswith("@"):
        return last
    below = ((n, _DEFINITION.match(block[n - 1])) for n in range(last + 1, len(block) + 1))
    definition = next(((n, match) for n, match in below if match is not None), None)
    return last if definition is None or definition[1][1] == "class" else definition[0]

"""Contracts: comments in kernels' source that name what must not change a row's result.

`# kvtrace: invariant over M` stands in a kernel, or right above it. Every run is searched for them,
so this module imports nothing of the evaluator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kvtrace.converters.findings.suppressions import marked_comments
from kvtrace.converters.source_lines import SourceLines

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_CONTRACT: Final = re.compile(r"#\s*kvtrace:\s*invariant\s+over\s+(\w+)")
_COMMENT: Final = re.compile(r"\s*(#|$)")
_DEFINITION: Final = re.compile(r"\s*(?:async\s+)?(def|class)\b")


class Contract(Struct, frozen=True):
    """A quantity over which a kernel's rows must be invariant, and the comment's file and line.

    `over` is `rows`, `grid` or the name of an argument.
    """

    over: str
    file: str
    line: int


def contracts_of(trace: Trace, runs: Sequence[Run]) -> Mapping[str, Contract]:
    """Return the contracts of the runs' kernels, by kernel name.

    The first contract in a kernel counts. Empty if no source was recorded.
    """
    lines = SourceLines(trace, runs)
    kernels = trace.table("kernels", runs, ["name", "file", "line"]).to_pylist()
    contracts_by_kernel: dict[str, Contract] = {}
    for file in dict.fromkeys(kernel["file"] for kernel in kernels if kernel["file"]):
        contracts = list(_contracts_in(file, lines))
        if not contracts:
            continue
        for path, first, last in lines.definitions():
            contracts_in_definition = [
                contract
                for contract, last_line in contracts
                if path == file and contract.line <= last and first <= last_line
            ]
            for kernel in kernels if contracts_in_definition else ():
                if kernel["file"] == file and first <= (kernel["line"] or 0) <= last:
                    contracts_by_kernel.setdefault(kernel["name"], contracts_in_definition[0])
    return contracts_by_kernel


def _contracts_in(file: str, lines: SourceLines) -> Iterator[tuple[Contract, int]]:
    """Yield each contract in a file with the last line of the statement that it belongs to."""
    for first_line, block in lines.blocks(file):
        for line, first, last, text in marked_comments(block):
            match = _CONTRACT.search(text)
            if match is not None:
                counts_to = _definition_below(block, first, last)
                yield Contract(match[1], file, line + first_line - 1), counts_to + first_line - 1


def _definition_below(block: Sequence[str], first: int, last: int) -> int:
    """Return the line of the `def` below a decorator's comment, else the statement's last line.

    Args:
        block: Lines of source.
        first: Where the comment or its statement begins, a line counted from 1.
        last: Where the statement ends.
    """
    code_line = next((n for n in range(first, last + 1) if not _COMMENT.match(block[n - 1])), None)
    if code_line is None or not block[code_line - 1].lstrip().startswith("@"):
        return last
    below = ((n, _DEFINITION.match(block[n - 1])) for n in range(last + 1, len(block) + 1))
    definition = next(((n, match) for n, match in below if match is not None), None)
    return last if definition is None or definition[1][1] == "class" else definition[0]

"""Questions to traces that `kvtrace mcp` asks in a separate process, which can be ended.

python -m kvtrace.addons.judge.trace_questions sql < arguments.json > answer.json
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from kvtrace.schema.errors import KvtraceError

#: What DuckDB may take for a statement.
_MEMORY: Final = "2GB"
#: Characters of an answer: what no agent reads is not made.
_LONGEST: Final = 4 << 20


class TooLong(KvtraceError):
    """An answer has more characters than are sent."""

    slug = "too-long"


def sanitize(trace: str, run: str | None, rules: list[str] | None) -> Any:
    """Return a trace's findings."""
    from kvtrace.analysis.traces import open as open_trace

    return open_trace(trace, run=run).sanitize(*(rules or ())).to_json()


def profile(trace: str, run: str | None, device: str | None) -> Any:
    """Return where a trace's time goes."""
    from kvtrace.analysis.traces import open as open_trace

    opened = open_trace(trace, run=run)
    if not len(opened.table("ops", ["call_id"])):
        opened.replay()
    return opened.profile(device=device).to_json()


def diff(before: str, after: str) -> Any:
    """Return how two sides differ."""
    from kvtrace.analysis.traces import diff as compare

    return compare(before, after).to_json()


def sql(trace: str, statement: str, run: str | None, rows: int) -> Any:
    """Return what a statement gives: columns, so many rows, and whether there are more."""
    from kvtrace.analysis.traces import open as open_trace

    found = open_trace(trace, run=run).sql(statement, rows + 1, memory=_MEMORY)
    listed = [row for row, _ in zip(found, range(rows), strict=False)]
    return {"columns": found.arrow.column_names, "rows": listed, "more": len(found) > rows}


_QUESTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    each.__name__: each for each in (sanitize, profile, diff, sql)
}


def main() -> int:
    """Answer the question that the command line names; 2 and a sentence where that fails."""
    try:
        answer = json.dumps(_QUESTIONS[sys.argv[1]](**json.load(sys.stdin)), default=str)
        if len(answer) > _LONGEST:
            raise TooLong(
                f"the answer has {len(answer):,} characters, and at most {_LONGEST:,} are sent; "
                "ask for less, or for sums"
            )
    except KvtraceError as error:
        print(error, file=sys.stderr)
        return 2
    print(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())

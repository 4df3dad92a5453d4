"""Commands on traces for `kvtrace mcp`, run in a separate process that can be killed.

python -m kvtrace.addons.agents.trace_questions sql < arguments.json > answer.json
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from kvtrace.schema.errors import KvtraceError

#: Memory limit of DuckDB for a statement.
_MEMORY: Final = "2GB"
#: Characters of an answer, at most.
_LONGEST: Final = 4 << 20


class TooLong(KvtraceError):
    """An answer has too many characters to be sent."""

    slug = "too-long"


def sanitize(trace: str, run: str | None, rules: list[str] | None) -> Any:
    """Judge a trace by rules, and return counts, verdicts and what was not judged as JSON."""
    from kvtrace.analysis.traces import open as open_trace

    return open_trace(trace, run=run).sanitize(*(rules or ())).to_json()


def profile(trace: str, run: str | None, device: str | None) -> Any:
    """Return the profile of a trace as JSON; derive bytes and FLOPs first if they are missing."""
    from kvtrace.analysis.traces import open as open_trace

    opened = open_trace(trace, run=run)
    if not len(opened.table("ops", ["call_id"])):
        opened.replay()
    return opened.profile(device=device).to_json()


def diff(before: str, after: str) -> Any:
    """Return the differences between two traces, runs or commits as JSON."""
    from kvtrace.analysis.traces import diff as compare

    return compare(before, after).to_json()


def sql(trace: str, statement: str, run: str | None, rows: int) -> Any:
    """Return the column names of a SQL statement, at most `rows` rows, and if there are more."""
    from kvtrace.analysis.traces import open as open_trace

    result = open_trace(trace, run=run).sql(statement, rows + 1, memory=_MEMORY)
    listed = [row for row, _ in zip(result, range(rows), strict=False)]
    return {"columns": result.arrow.column_names, "rows": listed, "more": len(result) > rows}


_QUESTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    question.__name__: question for question in (sanitize, profile, diff, sql)
}


def main() -> int:
    """Run the function that the command line names, with arguments as JSON from standard input.

    Prints its answer, or an error, and returns the exit code.
    """
    try:
        answer = json.dumps(_QUESTIONS[sys.argv[1]](**json.load(sys.stdin)), default=str)
        if len(answer) > _LONGEST:
            raise TooLong(
                f"the answer has {len(answer):,} characters, and at most {_LONGEST:,} are sent; "
                "request fewer rows, or aggregates"
            )
    except KvtraceError as error:
        print(error, file=sys.stderr)
        return 2
    print(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())

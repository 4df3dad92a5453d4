"""Tools of `kvtrace mcp`: the calls of a suite, and a candidate judged on them.

Each answer is made by a process of its own:

    python -m kvtrace.addons.suite.tools suite_calls < arguments.json > answer.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from kvtrace.schema.errors import KvtraceError

#: Returns the path of a client's file, if the server may open it.
PathOf = Callable[[str], str]
#: Runs a module with arguments and standard input, and returns what it prints.
Answer = Callable[[str, Sequence[str], bytes], Awaitable[str]]


def calls_tool(path: PathOf, answer: Answer, *, unconfined: bool) -> Callable[..., Any]:
    """Return the tool `suite_calls`; see the group `mcp_tools` of `kvtrace.registry`."""
    del unconfined  # no file is run

    async def suite_calls(suite: str) -> str:
        """List the recorded calls of a suite: shapes, weight and recorded time.

        Args:
            suite: Folder that `kvtrace suite` made.
        """
        arguments = json.dumps({"suite": path(suite)})
        return await answer(__name__, ["suite_calls"], arguments.encode())

    return suite_calls


def judge_tool(path: PathOf, answer: Answer, *, unconfined: bool) -> Callable[..., Any]:
    """Return the tool `suite_judge`; see the group `mcp_tools` of `kvtrace.registry`."""

    async def suite_judge(suite: str, candidate: str, calls: list[str] | None = None) -> str:
        """Judge a function or Triton kernel on recorded calls: right, wrong or unjudged, and why.

        The candidate takes arguments of the recorded kernel by their names, and stores into the
        same tensors.

        Args:
            suite: Folder that `kvtrace suite` made.
            candidate: FILE.py:NAME of the function or kernel.
            calls: Names of calls, as "003-*"; those of the kernel with the candidate's name
                otherwise.
        """
        file, sign, name = candidate.rpartition(":")
        arguments = {
            "suite": path(suite), "candidate": f"{path(file or name)}{sign}{name if file else ''}",
            "calls": calls or [], "unconfined": unconfined,
        }  # fmt: skip
        return await answer(__name__, ["suite_judge"], json.dumps(arguments).encode())

    return suite_judge


def _calls(suite: str) -> Any:
    from kvtrace.addons.suite.model import read_index

    index = read_index(Path(suite))
    return {
        "source": dict(index.source), "weighed_by": index.weighed_by, "covered": index.covered,
        "calls": [asdict(entry) for entry in index.entries],
    }  # fmt: skip


def _judgments(suite: str, candidate: str, calls: list[str], unconfined: bool) -> Any:
    from kvtrace.addons.suite.judging import JudgeOptions, judge_suite

    options = JudgeOptions(unconfined=unconfined)
    return [
        {name: value for name, value in asdict(judgment).items() if name != "judgment"}
        | {"findings": judgment.judgment.get("findings", []),
           "figures": judgment.judgment.get("figures", [])}
        for judgment in judge_suite(Path(suite), candidate, calls, options)
    ]  # fmt: skip


_QUESTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "suite_calls": _calls,
    "suite_judge": _judgments,
}


def main() -> int:
    """Answer the question that the command line names; print an error, and return the exit code."""
    try:
        print(json.dumps(_QUESTIONS[sys.argv[1]](**json.load(sys.stdin))))
    except KvtraceError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

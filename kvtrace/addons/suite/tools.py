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

from kvtrace.addons.suite.errors import CannotJudgeCall
from kvtrace.addons.suite.launch import Launch
from kvtrace.converters.profile.device_limits import DeviceLimits, Position, Work, position
from kvtrace.metrics.of_ops import Metrics, facts_of
from kvtrace.schema.errors import KvtraceError

#: Returns the path of a client's file, if the server may open it.
PathOf = Callable[[str], str]
#: Runs a module with arguments and standard input, and returns what it prints.
Answer = Callable[[str, Sequence[str], bytes], Awaitable[str]]


def calls_tool(path: PathOf, answer: Answer, *, unconfined: bool) -> Callable[..., Any]:
    """Return the tool `suite_calls`; see the group `mcp_tools` of `kvtrace.registry`."""
    del unconfined  # no file is run

    async def suite_calls(suite: str, device: str | None = None) -> str:
        """List the recorded calls of a suite: shapes, weight, time, and the roofline's limit.

        Args:
            suite: Folder that `kvtrace suite` made.
            device: The device whose roofline to use, as "H100 PCIe"; the recorded one otherwise.
        """
        arguments = {"suite": path(suite), "device": device}
        return await answer(__name__, ["suite_calls"], json.dumps(arguments).encode())

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


def _calls(suite: str, device: str | None) -> Any:
    from kvtrace.addons.suite.errors import CannotJudgeCall
    from kvtrace.addons.suite.launches import TARGET, read_launch
    from kvtrace.addons.suite.model import read_index
    from kvtrace.converters.profile.device_limits import chosen_device

    index = read_index(Path(suite))
    recorded = [name for name in [index.source.get("device", "").split(", ")[0]] if name]
    chosen = chosen_device(device, recorded, [TARGET])
    calls = []
    for entry in index.entries:
        limit, why = None, "" if chosen else "no limits of the device are known"
        try:
            launch = read_launch(Path(suite), entry.name, index.source.get("triton"))
            limit = roofline(launch, chosen.limits) if chosen else None
        except CannotJudgeCall as error:
            why = str(error)
        calls.append(
            asdict(entry)
            | {
                "roofline": None if limit is None else {"ns": limit.best_ns, "bound": limit.bound},
                "why": why,
            }
        )
    return {
        "source": dict(index.source), "weighed_by": index.weighed_by, "covered": index.covered,
        "device": chosen.limits.name if chosen else None, "calls": calls,
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


class _NoStacks:
    """A table of stacks for `Metrics` that keeps none, as nobody reads them."""

    def add_stack(self, _stack: object) -> None:
        """Take a stack."""


def roofline(launch: Launch, limits: DeviceLimits) -> Position | None:
    """Return a launch's position on the roofline of a device; None if it is not known.

    Raises:
        CannotJudgeCall: the evaluator cannot run the launch.
    """
    work = _work(launch)
    return None if work is None else position(work, limits)


def _work(launch: Launch) -> Work | None:
    """Return the bytes and FLOPs of a launch, by its IR and contents."""
    metrics = Metrics(None, facts_of(launch.module), launch.evaluator_arguments())
    try:
        launch.results([metrics])
    except CannotJudgeCall:
        return None
    stacks: Any = _NoStacks()
    rows = metrics.op_rows(0, list(launch.arguments), {}, stacks)
    fresh = [row["fresh_bytes"] for row in rows if row["buffer"] is not None]
    requested = [row["bytes"] for row in rows if row["buffer"] is not None]
    flops: dict[bool, dict[str, int]] = {True: {}, False: {}}
    for row in rows:
        if row["flops"]:
            of_kind = flops[row["kind"] == "dot"]
            of_kind[row["dtype"]] = of_kind.get(row["dtype"], 0) + row["flops"]
    return Work(
        None if None in fresh else sum(fresh),
        None if None in requested else sum(requested),
        flops[True],
        flops[False],
    )


if __name__ == "__main__":
    sys.exit(main())

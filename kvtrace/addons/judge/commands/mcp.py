"""`kvtrace mcp`: judging, and questions to traces, as tools of the Model Context Protocol."""

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import isawaitable
from typing import TYPE_CHECKING, Annotated, Any, Final

from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from mcp.server import MCPServer

_MOST_ROWS: Final = 200
_INSTRUCTIONS: Final = (
    "Judge Triton kernels without a GPU (judge), and look into traces that kvtrace recorded "
    "(sanitize, profile, diff, sql). Judge after each change of a kernel; go to the file and line "
    "of each finding, errors first."
)


class CannotServe(KvtraceError):
    """A tool could not do what was asked of it."""

    slug = "cannot-serve"


def command(
    unconfined: Annotated[
        bool, Option("--unconfined", help="Judge even if this system cannot confine files")
    ] = False,
) -> None:
    """Serve the Model Context Protocol on standard input and output.

    Tools: judge, sanitize, profile, diff and sql. An agent's client starts this command. It
    needs pip install 'kvtrace[mcp]'.

    Example:
        kvtrace mcp     # standard input and output belong to the client

    """
    server(unconfined=unconfined).run("stdio")


def server(*, unconfined: bool = False) -> "MCPServer":
    """Return the server with its tools.

    Args:
        unconfined: Whether files are judged also where this system cannot confine what runs them;
            who asks the server has no say in it.

    Raises:
        MissingPackage: the SDK is not installed.

    """
    from kvtrace import __version__
    from kvtrace.schema.errors import MissingPackage

    try:
        from mcp.server import MCPServer
    except ImportError as problem:
        raise MissingPackage(
            "kvtrace mcp takes the Model Context Protocol's SDK, 2.0 or newer; install it with "
            "pip install 'kvtrace[mcp]'."
        ) from problem
    made = MCPServer(
        "kvtrace", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
    )
    judge = judge_tool(["--unconfined"] if unconfined else [])
    for tool in (judge, sanitize, profile, diff, sql):
        made.tool(structured_output=False)(_telling(tool))
    return made


def _telling(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Hand a tool's errors to the client as the sentences that they are."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    async def told(**given: Any) -> Any:
        try:
            found = tool(**given)
            return await found if isawaitable(found) else found
        except KvtraceError as error:
            raise ToolError(str(error)) from error

    return told


def judge_tool(own: Sequence[str]) -> Callable[..., Any]:
    """Return the tool that judges, with options that are not its caller's to choose."""

    async def judge(
        kernel: str, reference: str | None = None, entry: str | None = None,
        shapes: list[str] | None = None, at: str | None = None, target: str = "cuda:90",
        device: str | None = None, trust_host: bool = False,
    ) -> str:  # fmt: skip
        """Say whether a file's Triton kernel is right: verdict, findings, hints, figures.

        Args:
            kernel: File with the kernel and a function that launches it.
            reference: FILE.py:NAME of a PyTorch function or module that gives the right results.
            entry: The function that launches, where the file has several.
            shapes: Inputs, as "x=f32[1000, 64], eps=1e-6"; not needed where the reference or the
                file has inputs() or annotations.
            at: Sizes to judge by formulas alone, as "rows=70_000".
            target: What to compile for, as cuda:90.
            device: The device whose roofline to use, as "H100 PCIe".
            trust_host: Whether to believe what PyTorch computes after the last launch.

        """
        options = {"--reference": reference, "--entry": entry, "--at": at, "--device": device}
        words = [word for name, value in options.items() if value for word in (name, value)]
        words += [word for each in shapes or () for word in ("--shapes", each)]
        words += ["--target", target, *own, *(["--trust-host"] if trust_host else [])]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kvtrace", "judge", *words, "--", kernel,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            told, complaint = await process.communicate()
        except BaseException:
            process.kill()
            raise
        if told:
            return told.decode()
        raise CannotServe(
            complaint.decode().strip() or f"kvtrace judge ended: {process.returncode}"
        )

    return judge


def sanitize(trace: str, run: str | None = None, rules: list[str] | None = None) -> str:
    """Judge every memory access of a recorded trace; findings with file, line, witness and hint.

    Args:
        trace: Trace directory.
        run: Run id, its beginning, or @COMMIT; without it the newest group of runs.
        rules: Rules by id, "default" or "all"; one that begins with "-" is left out.

    """
    from kvtrace.analysis.traces import open as open_trace

    return _json(open_trace(trace, run=run).sanitize(*(rules or ())).to_json())


def profile(trace: str, run: str | None = None, device: str | None = None) -> str:
    """Show where time, bytes and FLOPs of a recorded trace go, and what to try.

    Args:
        trace: Trace directory.
        run: Run id, its beginning, or @COMMIT.
        device: The device whose roofline to use, as "H100 PCIe".

    """
    from kvtrace.analysis.traces import open as open_trace

    opened = open_trace(trace, run=run)
    if not len(opened.table("ops", ["call_id"])):
        opened.replay()
    return _json(opened.profile(device=device).to_json())


def diff(before: str, after: str) -> str:
    """Compare two traces, runs or commits: source, IR, registers, bytes, time, findings.

    Args:
        before: Trace directory, DIRECTORY/@COMMIT or DIRECTORY/RUN.
        after: The other side.

    """
    from kvtrace.analysis.traces import diff as compare

    return _json(compare(before, after).to_json())


def sql(trace: str, statement: str, run: str | None = None, rows: int = _MOST_ROWS) -> str:
    """Ask a trace's tables one statement of DuckDB's SQL that only reads.

    Views: launched (a row a launch, with kernel and times), and the tables runs, kernels, calls,
    launches, findings, ops, accesses and others.

    Args:
        trace: Trace directory.
        statement: The statement.
        run: Run id, its beginning, or @COMMIT.
        rows: How many rows to return at most; `more` says whether there are others.

    """
    from kvtrace.analysis.traces import open as open_trace

    most = max(rows, 0)
    found = open_trace(trace, run=run).sql(statement, most + 1)
    listed = [row for row, _ in zip(found, range(most), strict=False)]
    more = len(found) > most
    return _json({"columns": found.arrow.column_names, "rows": listed, "more": more})


def _json(told: Any) -> str:
    return json.dumps(told, default=str)

"""`kvtrace mcp`: a server of the Model Context Protocol with tools over traces."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from mcp.server import MCPServer

_ROWS: Final = 200
_MOST_ROWS: Final = 10_000
_SECONDS: Final = 300.0
_INSTRUCTIONS: Final = (
    "Look into traces of Triton kernels that kvtrace recorded, with or without a GPU. After each "
    "change of a kernel record its test again, sanitize, and go to the file and line of each "
    "finding, errors first; profile says where time goes, diff what a change changed."
)


class CannotServe(KvtraceError):
    """A tool of the server cannot answer a request."""

    slug = "cannot-serve"


def command(
    root: Annotated[
        list[str] | None,
        Option(
            "--root",
            metavar="FOLDER",
            help="Folder, or address of an object store, below which files may be opened; may be "
            "repeated [default: .]",
        ),
    ] = None,
    seconds: Annotated[
        float, Option("--seconds", help="Time limit of each answer", min=1)
    ] = _SECONDS,
) -> None:
    """Serve the Model Context Protocol on standard input and output.

    Tools: sanitize, profile, diff, sql, all over recorded traces. An agent's client starts this
    command, which needs pip install 'kvtrace[mcp]'. Files outside of the roots are not opened.

    Example:
        kvtrace mcp --root ~/traces --root .     # started by the agent's client
    """
    server(root or ["."], seconds=seconds).run("stdio")


def server(roots: Sequence[str], *, seconds: float = _SECONDS) -> "MCPServer":
    """Return the server with its tools.

    Args:
        roots: Folders, or addresses of object stores, below which files are opened.
        seconds: Time limit of each answer.

    Raises:
        MissingPackage: the SDK is not installed.
    """
    from kvtrace.schema.errors import MissingPackage
    from kvtrace.version import __version__

    try:
        from mcp.server import MCPServer
    except ImportError as problem:
        raise MissingPackage(
            "kvtrace mcp needs the Model Context Protocol's SDK, 2.0 or newer; install it with "
            "pip install 'kvtrace[mcp]'."
        ) from problem
    server_ = MCPServer(
        "kvtrace", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
    )
    tools = Tools(Roots(roots), seconds)
    served: tuple[Callable[..., Any], ...] = (
        tools.sanitize, tools.profile, tools.diff, tools.sql,
    )  # fmt: skip
    for tool in served:
        server_.tool(structured_output=False)(_with_error_sentences(tool))
    return server_


def _with_error_sentences(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tool that raises kvtrace's errors as ToolError, whose text the client receives."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    async def wrapped(**arguments: Any) -> Any:
        try:
            return await tool(**arguments)
        except KvtraceError as error:
            raise ToolError(str(error)) from error

    return wrapped


class Roots:
    """The folders and addresses below which the server opens files."""

    def __init__(self, roots: Iterable[str]) -> None:
        """Resolve the folders now, so that a link that changes later has no effect."""
        listed = list(roots)
        self._addresses = [root for root in listed if "://" in root]
        self._folders = [Path(root).expanduser().resolve() for root in listed if "://" not in root]

    def path(self, text: str) -> str:
        """Return the resolved path of a client's file, or its address in a store, if allowed.

        Raises:
            CannotServe: the path is not below a root, or contains a link to elsewhere.
        """
        if ":/" in text:
            return self._address(text)
        path = Path(text).expanduser().resolve()
        self._check(path, text)
        for folder, folders, files in os.walk(path):
            for name in (*folders, *files):
                inside = Path(folder, name)
                if inside.is_symlink():
                    self._check(inside.resolve(), str(inside))
        return str(path)

    def side(self, text: str) -> str:
        """Return a side of a diff: an allowed path; or unchanged, the name of a commit or run."""
        is_name = "/" not in text and not Path(text).exists()
        return text if is_name else self.path(text)

    def _check(self, path: Path, text: str) -> None:
        if not any(path == root or root in path.parents for root in self._folders):
            raise CannotServe(
                f"{text} is not below the server's roots ({self}); start the server with "
                "kvtrace mcp --root FOLDER to allow another folder"
            )

    def _address(self, text: str) -> str:
        """Return a client's address with the options of its root; raise if no root allows it."""
        for root in self._addresses:
            base, sign, options = root.partition("?")
            below = text.removeprefix(base.rstrip("/"))
            is_below = below != text and (not below or below[0] == "/")
            if is_below and not {"..", "."} & set(below.split("/")) and not set(below) & set("?#%"):
                return f"{text}{sign}{options}"
        raise CannotServe(
            f"{text} is not below the server's roots ({self}); start the server with "
            "kvtrace mcp --root s3://BUCKET/FOLDER to allow an address"
        )

    def __str__(self) -> str:
        """Return all roots, for messages."""
        return ", ".join([*map(str, self._folders), *self._addresses])


class Tools:
    """The tools of the server; each runs a separate process, which is killed at the time limit."""

    def __init__(self, roots: Roots, seconds: float) -> None:
        self._roots = roots
        self._seconds = seconds

    async def sanitize(
        self, trace: str, run: str | None = None, rules: list[str] | None = None
    ) -> str:
        """Judge every memory access of a recorded trace; findings with file, line, witness, hint.

        Args:
            trace: Trace directory.
            run: Run id, its beginning, or @COMMIT; without it the newest group of runs.
            rules: Rules by id, "default" or "all"; one that begins with "-" is left out.
        """
        return await self._ask("sanitize", trace=self._roots.path(trace), run=run, rules=rules)

    async def profile(self, trace: str, run: str | None = None, device: str | None = None) -> str:
        """Show where time, bytes and FLOPs of a recorded trace go, and what to try.

        Args:
            trace: Trace directory.
            run: Run id, its beginning, or @COMMIT.
            device: The device whose roofline to use, as "H100 PCIe".
        """
        return await self._ask("profile", trace=self._roots.path(trace), run=run, device=device)

    async def diff(self, before: str, after: str) -> str:
        """Compare two traces, runs or commits: source, IR, registers, bytes, time, findings.

        Args:
            before: Trace directory, DIRECTORY/@COMMIT or DIRECTORY/RUN.
            after: The other side.
        """
        return await self._ask(
            "diff", before=self._roots.path(before), after=self._roots.side(after)
        )

    async def sql(
        self, trace: str, statement: str, run: str | None = None, rows: int = _ROWS
    ) -> str:
        """Ask a trace's tables one statement of DuckDB's SQL that only reads.

        Views: launched (a row a launch, with kernel and times), and the tables runs, kernels,
        calls, launches, findings, ops, accesses and others.

        Args:
            trace: Trace directory.
            statement: The statement.
            run: Run id, its beginning, or @COMMIT.
            rows: How many rows to return at most, up to 10,000; `more` says whether there are
                others.
        """
        most = min(max(rows, 0), _MOST_ROWS)
        path = self._roots.path(trace)
        return await self._ask("sql", trace=path, statement=statement, run=run, rows=most)

    async def _ask(self, question: str, **arguments: Any) -> str:
        """Ask `trace_questions` in a process of its own, and return what the process prints.

        Raises:
            CannotServe: nothing was printed, or the process did not end in time and was killed.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kvtrace.addons.agents.trace_questions", question,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(self._seconds):
                answer, errors = await process.communicate(json.dumps(arguments).encode())
        except TimeoutError:
            raise CannotServe(
                f"there was no answer within {self._seconds:g} s; request less, or start the "
                "server with a larger limit: kvtrace mcp --seconds"
            ) from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if answer:
            return answer.decode()
        sentence = errors.decode(errors="replace").strip()
        raise CannotServe(sentence or f"{question} ended without an answer: {process.returncode}")

"""`kvtrace mcp`: a server of the Model Context Protocol that judges kernels and reads traces."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kvtrace import registry
from kvtrace.addons.judge.beside import helper_process
from kvtrace.addons.judge.commands.judge import printed_judgment
from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from mcp.server import MCPServer

_ROWS: Final = 200
_MOST_ROWS: Final = 10_000
_SECONDS: Final = 300.0
_INSTRUCTIONS: Final = (
    "Judge Triton kernels without a GPU (judge), and look into traces that kvtrace recorded "
    "(sanitize, profile, diff, sql). Judge after each change of a kernel; go to the file and line "
    "of each finding, errors first."
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
    unconfined: Annotated[
        bool, Option("--unconfined", help="Judge even if this system cannot confine files")
    ] = False,
) -> None:
    """Serve the Model Context Protocol on standard input and output.

    Tools: judge, sanitize, profile, diff, sql, and those of add-ons. An agent's client starts this
    command, which needs pip install 'kvtrace[mcp]'. Files outside of the roots are not opened.

    Example:
        kvtrace mcp --root ~/traces --root .     # started by the agent's client
    """
    server(root or ["."], seconds=seconds, unconfined=unconfined).run("stdio")


def server(
    roots: Sequence[str], *, seconds: float = _SECONDS, unconfined: bool = False
) -> "MCPServer":
    """Return the server with its tools.

    Args:
        roots: Folders, or addresses of object stores, below which files are opened.
        seconds: Time limit of each answer.
        unconfined: Judge files even if this system cannot confine them; clients cannot set this.

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
    tools = Tools(Roots(roots), seconds, unconfined=unconfined)
    served: list[Callable[..., Any]] = [*tools.own, *tools.added()]
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
    """The tools of the server; each runs a separate process, which is killed at the time limit.

    That of `judge` is kept for the next file. `unconfined`: judge files even if this system cannot
    confine them.
    """

    def __init__(self, roots: Roots, seconds: float, *, unconfined: bool) -> None:
        self._roots = roots
        self._seconds = seconds
        self._unconfined = unconfined
        self.own = (self.judge, self.sanitize, self.profile, self.diff, self.sql)

    def added(self) -> Iterator[Callable[..., Any]]:
        """Yield the tools of add-ons and other packages, async functions that clients call.

        Each entry of the group is called with `path`, which returns a client's path if the server
        may open it; with `answer`, which runs a module with arguments and standard input in a
        process that is killed at the time limit, and returns its output; and with `unconfined`.
        """
        for _, tool in registry.loaded("mcp_tools"):
            yield tool(path=self._roots.path, answer=self._answer, unconfined=self._unconfined)

    async def judge(
        self, kernel: str, reference: str | None = None, entry: str | None = None,
        shapes: list[str] | None = None, at: str | None = None,
        target: str = "cuda:90", device: str | None = None, trust_host: bool = False,
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
        if reference:
            file, sign, name = reference.rpartition(":")
            reference = f"{self._roots.path(file or name)}{sign}{name if file else ''}"
        facts = {
            "shapes": tuple(shapes or ()), "at": at or None, "target": target,
            "device": device or None, "trust_host": trust_host, "unconfined": self._unconfined,
        }  # fmt: skip
        path = Path(self._roots.path(kernel))
        return await self._judged(path, reference or None, entry or None, facts)

    async def _judged(
        self, kernel: Path, reference: str | None, entry: str | None, facts: dict[str, Any]
    ) -> str:
        """Judge a file in a process that keeps what it has imported; return the printed JSON.

        Raises:
            CannotServe: there was no answer in time, and the process was killed.
        """
        with helper_process(is_clean=False) as process:
            process.ask(printed_judgment, kernel, reference, entry, facts)
            answer = asyncio.ensure_future(asyncio.to_thread(process.answer))
            try:
                async with asyncio.timeout(self._seconds):
                    return str(await asyncio.shield(answer))
            except TimeoutError:
                raise self._late() from None
            finally:
                if not answer.done():
                    process.kill()
                    await asyncio.gather(answer, return_exceptions=True)

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
        return await self._answer(
            "kvtrace.addons.judge.trace_questions", [question], json.dumps(arguments).encode()
        )

    async def _answer(self, module: str, words: Sequence[str], content: bytes = b"") -> str:
        """Run a module with arguments and input, and return its output.

        Raises:
            CannotServe: the module printed nothing, or did not end in time and was killed.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *words, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(self._seconds):
                answer, errors = await process.communicate(content)
        except TimeoutError:
            raise self._late() from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if answer:
            return answer.decode()
        sentence = errors.decode(errors="replace").strip()
        raise CannotServe(sentence or f"{words[0]} ended without an answer: {process.returncode}")

    def _late(self) -> CannotServe:
        return CannotServe(
            f"there was no answer within {self._seconds:g} s; request less, or start the server "
            "with a larger limit: kvtrace mcp --seconds"
        )

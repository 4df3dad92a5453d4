"""Origins of Inductor's kernels: operators, graph nodes, modules and lines of the program.

All of these are available when Inductor generates the kernel's code:
`TritonScheduling.define_kernel` receives the scheduled nodes, whose `origins` are nodes of the
graph that autograd traced. If the code comes from Inductor's cache, nothing is generated; comments
in the module that calls the kernels then have only the operators and graph nodes of each kernel.
Seen in torch 2.11 and 2.13.
"""

import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeAlias

from kvtrace.backends.inductor.libraries import GENERATOR
from kvtrace.backends.replacements import Replacements
from kvtrace.capture.records import Origin, capped
from kvtrace.schema.cached_property import cached_property
from kvtrace.surroundings import Local

#: Most generated kernels that are stored until they are launched.
_LIMIT: Final = 10_000
#: Longest line of the program's code that is stored, in characters.
_CODE_LIMIT: Final = 200
#: Larger modules are not searched for comments, in bytes.
_MODULE_LIMIT: Final = 16 << 20

_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+), in ([^\n]+)(?:\n[ \t]*([^\n]*))?')
#: The root of dynamo's path to a module, and a dictionary entry within the path.
_ROOT: Final = re.compile(r"^L\[[^\]]*\]")
_ENTRY: Final = re.compile(r"(?:\._modules)?\[['\"]?([^'\"\]]+)['\"]?\]")
#: Path of Inductor's generated files: `i3/ci3v….py`, folder and file named by a hash.
_GENERATED: Final = re.compile(r"[/\\](\w\w)[/\\]c\1\w+\.py$")
_COMMENT: Final = re.compile(r"\s*# .*Source Nodes: \[([^\]]*)\], Original ATen: \[([^\]]*)\]")
#: The body of a function at module level.
_FUNCTION: Final = re.compile(r"^def .*\n((?:[ \t].*\n?|\n)*)", re.MULTILINE)
_LAUNCH: Final = re.compile(r"\s*(\w+)\.run\(")
#: A call of generated code: of a kernel, or of a library.
_CALL: Final = re.compile(r"\s*(?:\w+\.run\(|(?:\w+ = )?(?:extern_kernels|torch\.ops)\.)")
#: Number of lines above a call in which its comment is searched.
_ABOVE: Final = 6
#: The module in which Inductor writes calls of libraries' kernels, and that of its code's files.
_LOWERING: Final = "torch._inductor.ir"
_CODE_CACHE: Final = "torch._inductor.codecache"

#: The origins of calls by the comment above them; equal comments have several calls, in order.
CallsByComment: TypeAlias = dict[str, list[tuple[Origin, ...]]]


class GeneratedLines(tuple[str, ...]):
    """The lines of a generated file."""

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The indices of equal comments, by comment."""
        places: dict[str, list[int]] = {}
        for index, line in enumerate(self):
            if line.lstrip().startswith("#"):
                places.setdefault(line.strip(), []).append(index)
        return places


class Origins:
    """Origins by the kernel's name and code, recorded when the code was generated.

    Origins of a library's kernel are stored by the generated file, and there by the comment above
    the call: graphs name their nodes alike, so other files may have the same comment.
    """

    def __init__(self) -> None:
        self._kernels: OrderedDict[tuple[str, str], dict[Origin, None]] = OrderedDict()
        self._calls: OrderedDict[str, CallsByComment] = OrderedDict()
        #: of each thread that generates code: the calls that are not in a file yet
        self._pending = Local()

    def add(self, name: str, code: str, origins: Iterable[Origin]) -> None:
        """Add origins of a kernel to the origins stored for its name and code."""
        self._kernels.setdefault((name, _body(code)), {}).update(dict.fromkeys(origins))
        while len(self._kernels) > _LIMIT:
            self._kernels.popitem(last=False)

    def of(self, name: str, code: str | None) -> tuple[Origin, ...] | None:
        """Return the origins stored for a kernel's name and code; None without any."""
        origins = self._kernels.get((name, _body(code or "")))
        return tuple(origins) if origins else None

    def add_call(self, comment: str, origins: Iterable[Origin]) -> None:
        """Store the origins of a call of a library's kernel until its file is written."""
        calls = self._pending_calls()
        calls.setdefault(comment.strip(), []).append(tuple(dict.fromkeys(origins)))
        while len(calls) > _LIMIT:
            del calls[next(iter(calls))]

    def add_file(self, file: str, code: str) -> None:
        """Store the pending calls whose comments are in a file that this thread has generated."""
        calls = self._pending_calls()
        if not calls:
            return
        comments = dict.fromkeys(line.strip() for line in code.splitlines())
        written = {comment: calls.pop(comment) for comment in comments if comment in calls}
        if written:
            self._calls[file] = written
            while len(self._calls) > _LIMIT:
                self._calls.popitem(last=False)

    def of_call(self, file: str, lines: GeneratedLines, index: int) -> tuple[Origin, ...] | None:
        """Return the origins of the call below the comment `lines[index]` of a generated file.

        Equal comments of a file are told apart by their order; if calls are missing, their origins
        are united. None if unknown.
        """
        comment = lines[index].strip()
        calls = self._calls.get(file, {}).get(comment)
        if not calls:
            return None
        places = lines.places.get(comment, [])
        if len(places) == len(calls):
            return calls[places.index(index)] or None
        return tuple(dict.fromkeys(origin for origins in calls for origin in origins)) or None

    def _pending_calls(self) -> CallsByComment:
        if not hasattr(self._pending, "calls"):
            self._pending.calls = {}
        calls: CallsByComment = self._pending.calls
        return calls


#: The origins of the whole process: code is generated long before the kernel is launched.
ORIGINS: Final = Origins()


def origins_of(
    name: str, code: str | None, module: str | None, *, keep_code: bool
) -> tuple[Origin, ...] | None:
    """Return the origins of a kernel: recorded ones, else those in its calling module's comments.

    `code` is the source of the kernel's function, `module` the file that calls the kernel. None if
    unknown. Without `keep_code`, origins have no lines of the program's code.
    """
    origins = ORIGINS.of(name, code)
    if origins is None and module is not None:
        origins = _commented(module).get(name)
    return origins if keep_code else _without_code(origins)


def is_generated(file: str) -> bool:
    """Return whether Inductor has written a file."""
    return _GENERATED.search(file) is not None


def origins_of_line(file: str, line: int | None, *, keep_code: bool) -> tuple[Origin, ...] | None:
    """Return the origins of a line of a generated module; None for any other line."""
    if line is None or not is_generated(file):
        return None
    lines = _lines_of(file)
    for above in range(min(line, len(lines)) - 1, max(line - 2 - _ABOVE, -1), -1):
        comment = _COMMENT.match(lines[above])
        if comment:
            origins = ORIGINS.of_call(file, lines, above) or _of_comment(comment)
            return origins if keep_code else _without_code(origins)
        if above < line - 1 and _CALL.match(lines[above]):
            return None
    return None


def _without_code(origins: tuple[Origin, ...] | None) -> tuple[Origin, ...] | None:
    return origins and tuple(
        Origin(o.op, o.node, o.module, o.file, o.line, o.function) for o in origins
    )


def calling_module() -> str | None:
    """Return the file of the innermost generated module on the thread's call stack, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _GENERATED.search(frame.f_code.co_filename):
            return frame.f_code.co_filename
        frame = frame.f_back
    return None


def note_origins(replaced: Replacements, problem: Callable[[Exception], None]) -> None:
    """Wrap Inductor's `define_kernel`, so that origins are stored when code is generated."""
    owner = sys.modules[GENERATOR].TritonScheduling
    define = owner.define_kernel

    def define_kernel(*args: Any, **kwargs: Any) -> Any:
        name = define(*args, **kwargs)
        try:
            positional = dict(zip(("self", "src_code", "node_schedule"), args, strict=False))
            arguments = positional | kwargs
            origins = _of_schedule(arguments["node_schedule"])
            ORIGINS.add(str(name), str(arguments["src_code"]), origins)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            problem(error)
        return name

    define_kernel.__wrapped__ = define  # type: ignore[attr-defined]
    replaced.put(owner, "define_kernel", define_kernel)
    _note_calls(replaced, problem)


def _note_calls(replaced: Replacements, problem: Callable[[Exception], None]) -> None:
    """Wrap the functions that write comments above calls of libraries, and generated files."""
    lowering, cache = sys.modules.get(_LOWERING), sys.modules.get(_CODE_CACHE)
    files = getattr(cache, "PyCodeCache", None)
    write = getattr(files, "write", None)
    owner = getattr(lowering, "ExternKernel", None)
    comment = getattr(owner, "codegen_comment", None)
    describe = getattr(lowering, "get_kernel_metadata", None)
    if comment is None or describe is None or write is None:
        return

    def codegen_comment(self: Any, wrapper: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            text = describe(self, wrapper)[0]
            ORIGINS.add_call(text, _of_nodes(_own_node_first(self)))
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            problem(error)
        return comment(self, wrapper, *args, **kwargs)

    codegen_comment.__wrapped__ = comment  # type: ignore[attr-defined]
    replaced.put(owner, "codegen_comment", codegen_comment)

    def write_file(source_code: str, *args: Any, **kwargs: Any) -> Any:
        written = write(source_code, *args, **kwargs)
        try:
            ORIGINS.add_file(str(written[1]), source_code)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            problem(error)
        return written

    write_file.__wrapped__ = write  # type: ignore[attr-defined]
    replaced.put(files, "write", staticmethod(write_file))


def _own_node_first(call: Any) -> Iterable[Any]:
    """Return the graph nodes of a call of a library, the called operator's node first.

    Inductor adds the nodes of which its inputs are views, such as the next module's in a backward.
    """
    own = call.get_origin_node() or next(iter(call.origins), None)
    return dict.fromkeys([] if own is None else [own, *call.origins])


def _of_schedule(schedule: Iterable[Any]) -> Iterator[Origin]:
    for entry in schedule:
        scheduled = entry.get_nodes() if hasattr(entry, "get_nodes") else (entry,)
        for scheduler_node in scheduled:
            yield from _of_nodes(getattr(getattr(scheduler_node, "node", None), "origins", ()))


def _of_nodes(nodes: Iterable[Any]) -> Iterator[Origin]:
    return (_origin(node) for node in nodes if node.op == "call_function")


def _origin(node: Any) -> Origin:
    meta: Mapping[str, Any] = node.meta
    file, line, function, code = _place(meta.get("stack_trace"))
    return Origin(
        op=_operator(meta.get("original_aten") or node.target),
        node=capped(_traced_name(node)),
        module=_module(meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack")),
        file=file,
        line=line,
        function=function,
        code=code,
    )


def _operator(operator: Any) -> str:
    """Return "aten.mul" for aten.mul.Tensor; other operators by their name."""
    packet = getattr(operator, "_overloadpacket", operator)
    return capped(str(packet) if packet is not operator else str(getattr(operator, "__name__", "")))


def _traced_name(node: Any) -> str:
    """Return the node's name in the graph that dynamo traced, or else the node's own name."""
    sources = node.meta.get("from_node")
    return str(getattr(sources[0], "name", node.name)) if sources else str(node.name)


def _module(stack: Mapping[str, Any] | None) -> str | None:
    """Return the path of the innermost module; None for a node in no module below the root."""
    if not stack:
        return None
    path = str(list(stack.values())[-1][0])
    path = _ENTRY.sub(r".\1", _ROOT.sub("", path)).replace("._orig_mod", "").lstrip(".")
    return capped(path) or None


def _place(trace: Any) -> tuple[str | None, int | None, str | None, str | None]:
    """Return file, line, function and code of the innermost frame of a node's stack trace."""
    frames = _FRAME.findall(str(trace or ""))
    if not frames:
        return None, None, None, None
    file, line, function, code = frames[-1]
    return capped(file), int(line), capped(function), capped(code, _CODE_LIMIT) or None


def _body(code: str) -> str:
    """Return a kernel function's body, without the line of `def`, in which the name may change."""
    match = _FUNCTION.search(code, max(code.rfind("@triton.jit"), 0))
    return match[1].strip() if match else ""


@lru_cache(maxsize=8)
def _commented(module: str) -> dict[str, tuple[Origin, ...]]:
    """Return origins by kernel name from comments in a generated module; {} without the file."""
    origins_by_kernel: dict[str, dict[Origin, None]] = {}
    comment: re.Match[str] | None = None
    for line in _lines_of(module):
        match = _COMMENT.match(line)
        launch = _LAUNCH.match(line)
        if match:
            comment = match
        elif launch:
            origins_by_kernel.setdefault(launch[1], {}).update(dict.fromkeys(_of_comment(comment)))
            comment = None
    return {name: tuple(origins) for name, origins in origins_by_kernel.items() if origins}


@lru_cache(maxsize=8)
def _lines_of(module: str) -> GeneratedLines:
    path = Path(module)
    try:
        text = path.read_text("utf-8", "replace") if path.stat().st_size <= _MODULE_LIMIT else ""
    except OSError:
        return GeneratedLines()
    return GeneratedLines(text.splitlines())


def _of_comment(comment: re.Match[str] | None) -> tuple[Origin, ...]:
    """Return the operators and nodes of a comment as origins."""
    operators = (Origin(op=op) for op in _names_in(comment, 2))
    return (*operators, *(Origin(node=node) for node in _names_in(comment, 1)))


def _names_in(comment: re.Match[str] | None, group: int) -> list[str]:
    return [] if comment is None else [name for name in comment[group].split(", ") if name]

"""What Inductor generated a kernel from: operators, nodes, modules and lines of the program.

All of that is known where Inductor writes the kernel's code: `TritonScheduling.define_kernel` is
handed the scheduled nodes, whose `origins` are nodes of the graph that autograd traced. Where the
code comes from Inductor's cache, nothing is generated; the module that calls the kernels then still
says, in comments, which operators and nodes of the graph each of them was made from, and no more.
Seen in torch 2.11 and 2.13.
"""

import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, Final

from kvtrace.backends.inductor.libraries import GENERATOR
from kvtrace.backends.replacements import Replacements
from kvtrace.capture.records import Origin, capped

#: Generated kernels that are remembered until they are launched.
_LIMIT: Final = 10_000
#: Longest line of the program's code that is kept, in characters.
_CODE_LIMIT: Final = 200
#: Larger modules are not searched for comments, in bytes.
_MODULE_LIMIT: Final = 16 << 20

_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+), in ([^\n]+)(?:\n[ \t]*([^\n]*))?')
#: Where dynamo found a module, and how it says that it was found in a dictionary.
_ROOT: Final = re.compile(r"^L\[[^\]]*\]")
_ENTRY: Final = re.compile(r"(?:\._modules)?\[['\"]?([^'\"\]]+)['\"]?\]")
#: Inductor's name for what it generates: `i3/ci3v….py`, a folder by the hash that names the file.
_GENERATED: Final = re.compile(r"[/\\](\w\w)[/\\]c\1\w+\.py$")
_COMMENT: Final = re.compile(r"\s*# .*Source Nodes: \[([^\]]*)\], Original ATen: \[([^\]]*)\]")
#: The body of a function that stands at the margin.
_FUNCTION: Final = re.compile(r"^def .*\n((?:[ \t].*\n?|\n)*)", re.MULTILINE)
_LAUNCH: Final = re.compile(r"\s*(\w+)\.run\(")
#: A call of generated code: of a kernel, or of a library.
_CALL: Final = re.compile(r"\s*(?:\w+\.run\(|(?:\w+ = )?(?:extern_kernels|torch\.ops)\.)")
#: So many lines above a call its comment is looked for.
_ABOVE: Final = 6
#: Where Inductor writes calls of libraries' kernels.
_LOWERING: Final = "torch._inductor.ir"


class Origins:
    """Origins by the kernel's name and code, as they were seen when the code was generated.

    Those of a library's kernel that generated code calls are known by the comment above the call.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str], dict[Origin, None]] = OrderedDict()
        self._calls: OrderedDict[str, dict[Origin, None]] = OrderedDict()

    def add(self, name: str, code: str, origins: Iterable[Origin]) -> None:
        """Note what a kernel is generated from; one that is used several times has all of it."""
        self._seen.setdefault((name, _body(code)), {}).update(dict.fromkeys(origins))
        while len(self._seen) > _LIMIT:
            self._seen.popitem(last=False)

    def of(self, name: str, code: str | None) -> tuple[Origin, ...] | None:
        """Return what is known of a kernel with this code; None where nothing is."""
        found = self._seen.get((name, _body(code or "")))
        return tuple(found) if found else None

    def add_call(self, comment: str, origins: Iterable[Origin]) -> None:
        """Note what a call of a library's kernel is generated from, by its comment."""
        self._calls.setdefault(comment.strip(), {}).update(dict.fromkeys(origins))
        while len(self._calls) > _LIMIT:
            self._calls.popitem(last=False)

    def of_call(self, comment: str) -> tuple[Origin, ...] | None:
        """Return what is known of a call with this comment; None where nothing is."""
        found = self._calls.get(comment.strip())
        return tuple(found) if found else None


#: The process's: code is generated long before the kernel is launched.
ORIGINS: Final = Origins()


def origins_of(
    name: str, code: str | None, module: str | None, *, keep_code: bool
) -> tuple[Origin, ...] | None:
    """Return what a kernel was generated from, None where it cannot be told.

    `code` is its function's source, `module` the file that calls it.
    """
    found = ORIGINS.of(name, code)
    if found is None and module is not None:
        found = _commented(module).get(name)
    return found if keep_code else _without_code(found)


def origins_of_line(file: str, line: int | None, *, keep_code: bool) -> tuple[Origin, ...] | None:
    """Return what a line of a generated module was generated from; None for any other line."""
    if line is None or not _GENERATED.search(file):
        return None
    lines = _lines_of(file)
    for above in range(min(line, len(lines)) - 1, max(line - 2 - _ABOVE, -1), -1):
        said = _COMMENT.match(lines[above])
        if said:
            found = ORIGINS.of_call(lines[above]) or _said(said)
            return found if keep_code else _without_code(found)
        if above < line - 1 and _CALL.match(lines[above]):
            return None
    return None


def _without_code(found: tuple[Origin, ...] | None) -> tuple[Origin, ...] | None:
    return found and tuple(
        Origin(one.op, one.node, one.module, one.file, one.line, one.function) for one in found
    )


def calling_module() -> str | None:
    """Return the file of the generated module that the running launch comes from, if one does."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _GENERATED.search(frame.f_code.co_filename):
            return frame.f_code.co_filename
        frame = frame.f_back
    return None


def note_origins(replaced: Replacements, problem: Callable[[Exception], None]) -> None:
    """Hook the generator, which has been imported."""
    owner = sys.modules[GENERATOR].TritonScheduling
    define = owner.define_kernel

    def define_kernel(*args: Any, **kwargs: Any) -> Any:
        name = define(*args, **kwargs)
        try:
            given = dict(zip(("self", "src_code", "node_schedule"), args, strict=False)) | kwargs
            ORIGINS.add(str(name), str(given["src_code"]), _of_schedule(given["node_schedule"]))
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            problem(error)
        return name

    define_kernel.__wrapped__ = define  # type: ignore[attr-defined]
    replaced.put(owner, "define_kernel", define_kernel)
    _note_calls(replaced, problem)


def _note_calls(replaced: Replacements, problem: Callable[[Exception], None]) -> None:
    """Hook the comments that are written above calls of libraries' kernels."""
    lowering = sys.modules.get(_LOWERING)
    owner = getattr(lowering, "ExternKernel", None)
    comment = getattr(owner, "codegen_comment", None)
    describe = getattr(lowering, "get_kernel_metadata", None)
    if comment is None or describe is None:
        return

    def codegen_comment(self: Any, wrapper: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            text = describe(self, wrapper)[0]
            ORIGINS.add_call(text, _of_nodes(self.origins))
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            problem(error)
        return comment(self, wrapper, *args, **kwargs)

    codegen_comment.__wrapped__ = comment  # type: ignore[attr-defined]
    replaced.put(owner, "codegen_comment", codegen_comment)


def _of_schedule(schedule: Iterable[Any]) -> Iterator[Origin]:
    for entry in schedule:
        scheduled = entry.get_nodes() if hasattr(entry, "get_nodes") else (entry,)
        for one in scheduled:
            yield from _of_nodes(getattr(getattr(one, "node", None), "origins", ()))


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
    """Return "aten.mul" of aten.mul.Tensor; others by the name that they have."""
    packet = getattr(operator, "_overloadpacket", operator)
    return capped(str(packet) if packet is not operator else str(getattr(operator, "__name__", "")))


def _traced_name(node: Any) -> str:
    """Return the node's name in the graph that dynamo traced, where it has one there."""
    sources = node.meta.get("from_node")
    return str(getattr(sources[0], "name", node.name)) if sources else str(node.name)


def _module(stack: Mapping[str, Any] | None) -> str | None:
    """Return the path of the innermost module; None where the node is in none below the root."""
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
    """Return the lines of a kernel's function but the first, which has a name that may change."""
    found = _FUNCTION.search(code, max(code.rfind("@triton.jit"), 0))
    return found[1].strip() if found else ""


@lru_cache(maxsize=8)
def _commented(module: str) -> dict[str, tuple[Origin, ...]]:
    """Return what a generated module says of each kernel that it calls; nothing if it is gone."""
    found: dict[str, dict[Origin, None]] = {}
    comment: re.Match[str] | None = None
    for line in _lines_of(module):
        said = _COMMENT.match(line)
        launch = _LAUNCH.match(line)
        if said:
            comment = said
        elif launch:
            found.setdefault(launch[1], {}).update(dict.fromkeys(_said(comment)))
            comment = None
    return {name: tuple(origins) for name, origins in found.items() if origins}


@lru_cache(maxsize=8)
def _lines_of(module: str) -> tuple[str, ...]:
    path = Path(module)
    try:
        text = path.read_text("utf-8", "replace") if path.stat().st_size <= _MODULE_LIMIT else ""
    except OSError:
        return ()
    return tuple(text.splitlines())


def _said(comment: re.Match[str] | None) -> tuple[Origin, ...]:
    """Return the operators and nodes of a comment."""
    operators = (Origin(op=op) for op in _listed(comment, 2))
    return (*operators, *(Origin(node=node) for node in _listed(comment, 1)))


def _listed(comment: re.Match[str] | None, group: int) -> list[str]:
    return [] if comment is None else [each for each in comment[group].split(", ") if each]

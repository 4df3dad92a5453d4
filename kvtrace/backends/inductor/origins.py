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
#: The body of a function that is at the margin.
_FUNCTION: Final = re.compile(r"^def .*\n((?:[ \t].*\n?|\n)*)", re.MULTILINE)
_LAUNCH: Final = re.compile(r"\s*(\w+)\.run\(")


class Origins:
    """Origins by the kernel's name and code, as they were seen when the code was generated."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str], dict[Origin, None]] = OrderedDict()

    def add(self, name: str, code: str, origins: Iterable[Origin]) -> None:
        """Note what a kernel is generated from; one that is used several times has all of it."""
        self._seen.setdefault((name, _body(code)), {}).update(dict.fromkeys(origins))
        while len(self._seen) > _LIMIT:
            self._seen.popitem(last=False)

    def of(self, name: str, code: str | None) -> tuple[Origin, ...] | None:
        """Return what is known of a kernel with this code; None where nothing is."""
        found = self._seen.get((name, _body(code or "")))
        return tuple(found) if found else None


#: The process's: code is generated long before the kernel is launched.
ORIGINS: Final = Origins()


def origins_of(
    name: str, code: str | None, module: str | None, *, keep_code: bool
) -> tuple[Origin, ...] | None:
    """Return what a kernel was generated from, None if it is unknown.

    `code` is its function's source, `module` the file that calls it.
    """
    found = ORIGINS.of(name, code)
    if found is None and module is not None:
        found = _commented(module).get(name)
    if found is None or keep_code:
        return found
    return tuple(
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


def _of_schedule(schedule: Iterable[Any]) -> Iterator[Origin]:
    for entry in schedule:
        scheduled = entry.get_nodes() if hasattr(entry, "get_nodes") else (entry,)
        for one in scheduled:
            for node in getattr(getattr(one, "node", None), "origins", ()):
                if node.op == "call_function":
                    yield _origin(node)


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
    path = Path(module)
    try:
        text = path.read_text("utf-8", "replace") if path.stat().st_size <= _MODULE_LIMIT else ""
    except OSError:
        return {}
    found: dict[str, dict[Origin, None]] = {}
    comment: re.Match[str] | None = None
    for line in text.splitlines():
        said = _COMMENT.match(line)
        launch = _LAUNCH.match(line)
        if said:
            comment = said
        elif launch:
            nodes, operators = _listed(comment, 1), _listed(comment, 2)
            origins = [*(Origin(op=op) for op in operators), *(Origin(node=n) for n in nodes)]
            found.setdefault(launch[1], {}).update(dict.fromkeys(origins))
            comment = None
    return {name: tuple(origins) for name, origins in found.items() if origins}


def _listed(comment: re.Match[str] | None, group: int) -> list[str]:
    return [] if comment is None else [each for each in comment[group].split(", ") if each]

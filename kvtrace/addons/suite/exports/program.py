"""Programs of exports: Python text that launches calls of a kernel with torch and Triton alone."""

from __future__ import annotations

import ast
import base64
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from kvtrace.addons.suite.exports.calls import Call, Storage, call_expression
from kvtrace.converters.scripts.repro_text import launching_text
from kvtrace.schema.cached_property import cached_property

_NAME_LENGTH: Final = 100


@dataclass(frozen=True)
class Group:
    """Calls of one kernel that take and return the same things: an operator of other tools.

    Attributes:
        name: of the group, made of the kernel's, an identifier that no other group has.
        calls: of the group; no two have the same shapes and scalars.
    """

    name: str
    calls: tuple[Call, ...]

    @property
    def read(self) -> list[Storage]:
        """The storages that the kernel may read, of the first call."""
        return [storage for storage in self.calls[0].used if storage.read]

    @property
    def written(self) -> list[Storage]:
        """The storages that the kernel may write to, of the first call."""
        return [storage for storage in self.calls[0].used if storage.written]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of what the kernel takes, in the order of its parameters."""
        names = {storage.name for storage in self.read} | set(self.calls[0].scalars)
        return tuple(name for name in self.calls[0].data.arguments if name in names)

    @cached_property
    def parameters(self) -> dict[str, str]:
        """An identifier for each input, which other tools know it by."""
        return {name: identifier(name) for name in self.inputs}

    @property
    def share(self) -> float:
        """The share of the run's weight that the calls stand for."""
        return sum(call.entry.share for call in self.calls)


def groups_of(calls: Iterable[Call]) -> list[Group]:
    """Return the calls in groups that other tools can treat as one operator each."""
    by_form: dict[object, list[list[Call]]] = defaultdict(list)
    for call in calls:
        members = by_form[_form(call)]
        joined = next((known for known in members if _is_one_operator([*known, call])), None)
        if joined is None:
            members.append([call])
        else:
            joined.append(call)
    names: dict[str, int] = defaultdict(int)
    groups = []
    for known in (known for members in by_form.values() for known in members):
        name = identifier(known[0].data.kernel)
        names[name] += 1
        groups.append(Group(name if names[name] == 1 else f"{name}_v{names[name]}", tuple(known)))
    return groups


def identifier(name: str) -> str:
    """Return a name as a Python identifier that is short enough for the name of a file."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII)[:_NAME_LENGTH]
    return text if text.isidentifier() else f"_{text}"


def program(
    group: Group,
    about: str,
    dtypes: Mapping[str, str] | None = None,
    *,
    with_contents: bool = False,
) -> str:
    """Return the text of a module with `PROGRAM`, a `Program` of `replaying.py`.

    Args:
        group: the calls.
        about: the module's docstring.
        dtypes: element types in which storages are handed over, where they are not their own.
        with_contents: whether the text has recorded contents; otherwise they lie in files beside
            the module, named as in a suite, or are not needed.
    """
    pieces = [launching_text(), files(__package__).joinpath("replaying.py").read_text("utf-8")]
    codes = _code_names(group.calls)
    lines = [_joined(about, pieces), "", "# ---- What was recorded ----", ""]
    lines += [f"{name} = {_long_text(text)}" for text, name in codes.items()]
    lines.append("PROGRAM = Program(")
    lines.append("    calls=(")
    for call in group.calls:
        carried = _contents(call) if with_contents else {}
        lines.append(f"{_call_text(call, codes[call.ir], carried)},")
    lines.append("    ),")
    lines.append(f"    inputs={group.inputs!r},")
    lines.append(f"    outputs={tuple(storage.name for storage in group.written)!r},")
    lines.append("    shapes=(")
    lines += [f"        {dict(_shapes(call.used))!r}," for call in group.calls]
    lines.append("    ),")
    own = {storage.name: storage.memory.dtype for storage in group.calls[0].used}
    lines.append(f"    dtypes={own | dict(dtypes or {})!r},")
    lines += [")", ""]
    return "\n".join(lines)


def given_text(group: Group) -> str:
    """Return the expression of a program's inputs by name, of variables with their identifiers."""
    return f"{{{', '.join(f'{name!r}: {text}' for name, text in group.parameters.items())}}}"


def _form(call: Call) -> object:
    storages = tuple(
        (each.name, each.memory.dtype, len(each.shape), each.tensor, each.read, each.written)
        for each in call.used
    )
    return call.data.kernel, tuple(call.data.arguments), storages, tuple(call.scalars)


def _is_one_operator(calls: Sequence[Call]) -> bool:
    """Return whether inputs tell calls apart, and the shapes of results follow from theirs."""
    keys = {
        (_shapes(each for each in call.used if each.read), tuple(call.scalars.values()))
        for call in calls
    }
    taken, made = (
        {
            tuple(call.used[position].shape[dimension] for call in calls)
            for position, storage in enumerate(calls[0].used)
            if storage.read is read
            for dimension in range(len(storage.shape))
        }
        for read in (True, False)
    )
    return len(keys) == len(calls) and all(len(set(sizes)) == 1 for sizes in made - taken)


def _shapes(storages: Iterable[Storage]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((storage.name, storage.shape) for storage in storages)


def _code_names(calls: Sequence[Call]) -> dict[str, str]:
    """Return a variable for each IR of calls, by its text."""
    return {text: f"IR_{number}" for number, text in enumerate({call.ir: 0 for call in calls})}


def _contents(call: Call) -> dict[str, str]:
    hashes = dict.fromkeys(memory.contents for memory in call.data.storages.values())
    return {
        sha256: base64.b64encode(call.contents_file(sha256).read_bytes()).decode("ascii")
        for sha256 in hashes
        if sha256 is not None
    }


def _call_text(call: Call, code: str, contents: Mapping[str, str]) -> str:
    """Return the expression of a call as its file has it, with its code's variable and contents."""
    expression = call_expression(call.text)
    text = ast.get_source_segment(call.text, expression)
    assert text is not None
    changed = ast.parse(text, mode="eval").body
    assert isinstance(changed, ast.Call)
    kept = [k for k in changed.keywords if k.arg not in ("code", "contents")]
    texts = [ast.get_source_segment(text, keyword) or "" for keyword in kept]
    more = [f"code={code}"]
    if contents:
        more.append(f"contents={dict(contents)!r}")
    return "\n".join(["Call(", *(f"    {one}," for one in (*texts, *more)), ")"])


def _joined(about: str, pieces: Sequence[str]) -> str:
    """Return modules as one: its docstring, their imports, but for kvtrace's, and their rests."""
    imports: dict[str, None] = {}
    rests = []
    for piece in pieces:
        body = ast.parse(piece).body
        heads = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        imports |= dict.fromkeys(
            ast.unparse(node)
            for node in heads
            if not (isinstance(node, ast.ImportFrom) and str(node.module).startswith("kvtrace"))
        )
        rests.append("\n".join(piece.splitlines()[heads[-1].end_lineno :]).strip("\n"))
    texts = sorted(imports, key=lambda line: (_is_third_party(line), line.startswith("from"), line))
    quoted = about.replace("\\", "\\\\").replace('"""', "'''")
    return "\n".join([f'"""{quoted}"""', "", *_spaced(texts), "", "", "\n\n\n".join(rests)])


def _spaced(imports: Sequence[str]) -> Iterator[str]:
    """Yield imports with an empty line before those of torch and Triton."""
    for previous, line in zip(["", *imports], imports, strict=False):
        if _is_third_party(line) and not _is_third_party(previous):
            yield ""
        yield line


def _is_third_party(line: str) -> bool:
    return line.split()[1].partition(".")[0] in ("torch", "triton")


def _long_text(text: str) -> str:
    """Return a text as a Python literal of several lines."""
    if "\r" not in text and "\0" not in text and '"""' not in text and not text.endswith('"'):
        return f'r"""{text}"""'
    return repr(text)

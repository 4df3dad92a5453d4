"""Source locations of the lines of a compiler stage, read from the stage's own text.

MLIR prints a location after every op (`loc(#loc5)`, defined by alias lines such as `#loc5 =
loc("file.py":9:16)`), PTX and AMD assembly have `.loc` and `.file` directives, LLVM IR has `!dbg`
metadata, and disassembled machine code has comments. The scanners read only these and do not parse
ops, so a new op cannot break them; a line with an unreadable location has no link.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from kvtrace.ir import IRSyntaxError
from kvtrace.ir.attribute_reader import AttributeReader
from kvtrace.ir.attributes import Attribute, LocationAttribute
from kvtrace.ir.locations import UNKNOWN, Location, location_frames, without_inner_places

Frame = tuple[str, int]
"""File and line, both as the compiler wrote them."""

Stack = tuple[Frame, ...]
"""Frames of one location, innermost first: an inlined callee before its caller."""

#: Most frames of a location, and deepest nesting (callsite of callsite …); the rest is ignored.
MAX_FRAMES: Final = 64


@dataclass(frozen=True, slots=True)
class LineLinks:
    """The source locations of each line of a text.

    `lines[i]` is an index into `stacks`, or -1 for a line without a location; a stack is a tuple
    of (index into `files`, line from 1), innermost first.
    """

    files: tuple[str, ...]
    stacks: tuple[tuple[tuple[int, int], ...], ...]
    lines: tuple[int, ...]


def line_links(stage: str, text: str) -> LineLinks | None:
    """Return the source locations of a stage's lines; None for a stage whose format has none."""
    scanner = _SCANNERS.get(stage)
    return scanner(text) if scanner else None


def link_mlir(text: str) -> LineLinks:
    """Return the source locations of the lines of MLIR in pretty or generic form.

    The location of an op with regions follows its last closing brace; the op's first line (and an
    `else` line between regions) gets this location, too.
    """
    lines = text.split("\n")
    aliases = _Aliases(lines)
    table = _LinkTable(len(lines))
    open_lines: list[list[int]] = []
    for line_number, line in enumerate(lines):
        if line.startswith("#"):
            continue
        opening_lines = _lines_of_closed_op(line, line_number, open_lines)
        location = _trailing_location(line)
        if location is None:
            continue
        stack = aliases.stack(location)
        for target in (line_number, *opening_lines):
            table.put(target, stack)
    return table.links()


def link_assembly(text: str) -> LineLinks:
    """Return the source locations of the lines of PTX or AMD assembly.

    A `.loc` directive applies to all instructions up to the next one, or the function's end.
    """
    lines = without_inner_places(text).split("\n")
    files = _assembly_files(lines)
    by_name = _unique_names(files.values())
    table = _LinkTable(len(lines))
    stacks: dict[tuple[int, int, int], Stack] = {}
    current: Stack = ()
    for line_number, line in enumerate(lines):
        match = _ASSEMBLY_LOCATION.match(line)
        if match:
            current = _assembly_stack(match, files, by_name, stacks)
        elif _ENDS_FUNCTION.match(line):
            current = ()
        elif current and _INSTRUCTION.match(line):
            table.put(line_number, current)
    return table.links()


def link_sass(listing: str) -> tuple[str, LineLinks]:
    """Return a listing of `nvdisasm -g` without location comments, and its lines' locations.

    A comment applies to every instruction up to the next comment, or the next function.
    """
    lines: list[str] = []
    stacks: list[Stack] = []
    current: Stack = ()
    for line in listing.split("\n"):
        match = _SASS_LOCATION.search(line)
        if match:
            current = ((match[1], int(match[2])),)
            continue
        if line.startswith(".text."):  # the next function begins
            current = ()
        lines.append(line)
        stacks.append(current if _SASS_INSTRUCTION.match(line) else ())
    table = _LinkTable(len(lines))
    for line_number, stack in enumerate(stacks):
        table.put(line_number, stack)
    return "\n".join(lines), table.links()


def link_llvm(text: str) -> LineLinks:
    """Return the source locations of the lines of LLVM IR, from `!dbg` attachments."""
    lines = text.split("\n")
    definitions = filter(None, map(_METADATA.match, lines))
    metadata: dict[str, str] = {match[1]: match[2] for match in definitions}
    table = _LinkTable(len(lines))
    stacks: dict[str, Stack] = {}
    for line_number, line in enumerate(lines):
        match = _DEBUG_ATTACHMENT.search(line)
        if match and not line.startswith("!"):
            if match[1] not in stacks:
                stacks[match[1]] = tuple(_llvm_frames(match[1], metadata))
            table.put(line_number, stacks[match[1]])
    return table.links()


_SCANNERS: Final[dict[str, Callable[[str], LineLinks]]] = {
    "ttir": link_mlir,
    "ttir_generic": link_mlir,
    "glir": link_mlir,
    "ttgir": link_mlir,
    "ttgir_generic": link_mlir,
    "llir": link_llvm,
    "ptx": link_assembly,
    "amdgcn": link_assembly,
}


@dataclass(slots=True)
class _LinkTable:
    """Builder of `LineLinks`: the stack index of each line, with files and stacks stored once."""

    count: int
    lines: list[int] = field(init=False)
    files: dict[str, int] = field(default_factory=dict)
    stacks: dict[tuple[tuple[int, int], ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lines = [-1] * self.count

    def put(self, line_number: int, stack: Stack) -> None:
        if not stack:
            return
        key = tuple((self.files.setdefault(file, len(self.files)), line) for file, line in stack)
        self.lines[line_number] = self.stacks.setdefault(key, len(self.stacks))

    def links(self) -> LineLinks:
        return LineLinks(tuple(self.files), tuple(self.stacks), tuple(self.lines))


# --- MLIR ---------------------------------------------------------------------------------------

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_ALIAS_ONLY: Final = re.compile(r"loc\((#\w+)\)\s*$")
_ALIAS_DEFINITION: Final = re.compile(r"(#\w+) = (loc\(.*\))\s*$")
_ALIAS: Final = re.compile(r"#\w+")


def _lines_of_closed_op(line: str, number: int, open_lines: list[list[int]]) -> list[int]:
    """Return the earlier lines of the op whose last brace closes in this line.

    `open_lines` is the stack of open braces, which is updated: for each brace, the numbers of the
    lines that opened the op's regions so far.
    """
    lines_of_op: list[int] = []
    for brace in re.findall(r"[{}]", _STRING.sub("", line)):
        if brace == "{":
            open_lines.append([*lines_of_op, number])
            lines_of_op = []
        elif open_lines:
            lines_of_op = open_lines.pop()
    return [earlier for earlier in lines_of_op if earlier != number]


def _trailing_location(line: str) -> str | None:
    """Return the text inside a `loc(…)` at the end of the line, or None."""
    alias_match = _ALIAS_ONLY.search(line)
    if alias_match:
        return alias_match.group(1)
    stripped = line.rstrip()
    if not stripped.endswith(")"):
        return None
    without_strings = _STRING.sub(lambda match: "_" * len(match.group()), stripped)
    depth = 0
    for position in range(len(without_strings) - 1, -1, -1):
        depth += (without_strings[position] == ")") - (without_strings[position] == "(")
        if depth == 0:
            before_parenthesis = without_strings[:position]
            return stripped[position + 1 : -1] if re.search(r"\bloc$", before_parenthesis) else None
    return None


class _Aliases:
    """Location aliases of a module (lines `#name = loc(…)`), read on first use."""

    def __init__(self, lines: list[str]) -> None:
        definitions = filter(None, map(_ALIAS_DEFINITION.match, lines))
        self._texts = {match[1]: match[2] for match in definitions}
        self._read: dict[str, Attribute] = {}
        self._stacks: dict[str, Stack] = {}
        self._parts: dict[int, tuple[Location, int]] = {}

    def stack(self, location: str) -> Stack:
        """Return the frames of a location's text; () if unreadable. Results are cached."""
        if location not in self._stacks:
            frames = location_frames(self._location(self._texts.get(location, f"loc({location})")))
            self._stacks[location] = tuple((f.file, f.line) for f in frames[:MAX_FRAMES])
        return self._stacks[location]

    def _location(self, text: str, depth: int = 0) -> Location:
        """Return the location in a text; unknown if it is unreadable."""
        for name in _ALIAS.findall(text):
            if name in self._texts and name not in self._read and depth < MAX_FRAMES:
                self._read[name] = LocationAttribute(UNKNOWN)  # of one that contains itself
                self._read[name] = LocationAttribute(self._location(self._texts[name], depth + 1))
        reader = AttributeReader(text)
        reader.attribute_aliases = self._read
        reader.location_parts = self._parts  # of all readers, which bounds what aliases repeat
        try:
            return reader.location()
        except IRSyntaxError:
            return UNKNOWN


# --- assembly -----------------------------------------------------------------------------------

_ASSEMBLY_FILE: Final = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_ASSEMBLY_LOCATION: Final = re.compile(
    r"\s*\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?"
    r"(?:.*?inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?(?:.*?(?://|;)\s*(.*))?"
)
_INLINED_COMMENT: Final = re.compile(r"@\[ (.+?):(\d+):\d+")
_INSTRUCTION: Final = re.compile(r"\s*(?:@|\{|\}\s*$)?\s*[a-z@%]")
_ENDS_FUNCTION: Final = re.compile(r"}|\s*\.(?:section|size|end_amdgpu)|.*-- End function")


_SASS_LOCATION: Final = re.compile(r'//## File "([^"]+)", line (\d+)')
_SASS_INSTRUCTION: Final = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+\S")


def _assembly_files(lines: list[str]) -> dict[int, str]:
    files: dict[int, str] = {}
    for line in lines:
        match = _ASSEMBLY_FILE.match(line)
        if match:
            file_number, folder_or_path, name = match.groups()
            files[int(file_number)] = _join(folder_or_path, name) if name else folder_or_path
    return files


def _join(folder: str, name: str) -> str:
    return str(PurePosixPath(folder) / name)


def _unique_names(paths: Iterable[str]) -> dict[str, str]:
    """Return base name → path, without base names that several paths share."""
    by_name: dict[str, set[str]] = {}
    for path in paths:
        by_name.setdefault(PurePosixPath(path).name, set()).add(path)
    return {
        name: paths_of_name.pop()
        for name, paths_of_name in by_name.items()
        if len(paths_of_name) == 1
    }


def _assembly_stack(
    match: re.Match[str],
    files: dict[int, str],
    by_name: dict[str, str],
    earlier: dict[tuple[int, int, int], Stack],
) -> Stack:
    """Return the frames of a `.loc` directive, innermost first; () if its file is unknown.

    Callers are in LLVM's comment (all of them, by base name), or in `inlined_at` (only the next
    caller, whose own directive came earlier). `earlier` has the frames of earlier directives by
    (file, line, column), and this directive's are added.
    """
    file, line, column, caller_file, caller_line, caller_column, comment = match.groups()
    if int(file) not in files:
        return ()
    frame = (files[int(file)], int(line))
    callers: Stack = tuple(
        (by_name[name], int(caller_line_text))
        for name, caller_line_text in _INLINED_COMMENT.findall(comment or "")
        if name in by_name
    )
    if not callers and caller_file and int(caller_file) in files:
        key = (int(caller_file), int(caller_line), int(caller_column))
        callers = earlier.get(key, ((files[key[0]], key[1]),))
    stack = (frame, *callers)[:MAX_FRAMES]
    earlier[int(file), int(line), int(column or 0)] = stack
    return stack


# --- LLVM IR ------------------------------------------------------------------------------------

_METADATA: Final = re.compile(r"(!\d+) = (?:distinct )?!(DI\w+\(.*\))\s*$")
_DEBUG_ATTACHMENT: Final = re.compile(r"!dbg (!\d+)")
_FIELD: Final = re.compile(r'(\w+): (!\d+|\d+|"(?:[^"\\]|\\.)*")')


def _llvm_frames(reference: str, metadata: dict[str, str]) -> Iterator[Frame]:
    for _ in range(MAX_FRAMES):
        text = metadata.get(reference, "")
        values = dict(_FIELD.findall(text))
        line = int(values.get("line", "0"))
        scope = values["file"] if "file" in values else _scope_file(values.get("scope"), metadata)
        if not line or scope is None:
            return
        yield _file_path(metadata.get(scope, "")), line
        if "inlinedAt" not in values:
            return
        reference = values["inlinedAt"]


def _scope_file(reference: str | None, metadata: dict[str, str]) -> str | None:
    for _ in range(MAX_FRAMES):
        if reference is None:
            return None
        values: dict[str, str] = dict(_FIELD.findall(metadata.get(reference, "")))
        if "file" in values:
            return values["file"]
        reference = values.get("scope")
    return None


def _file_path(text: str) -> str:
    values = {key: value[1:-1] for key, value in _FIELD.findall(text) if value.startswith('"')}
    name = values.get("filename", "")
    return _join(values["directory"], name) if "directory" in values else name

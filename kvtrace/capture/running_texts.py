"""The texts of the functions that launch, kept where they are what ran."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Final, NamedTuple
from weakref import ref

from kvtrace.capture.python_source import FILE_LIMIT, lines_of, used_part
from kvtrace.capture.records import Frame
from kvtrace.capture.stacks import is_generated
from kvtrace.schema.content import TORCH_FILES, content_hash
from kvtrace.settings import Source

#: Most frames of a stack of which text is kept, the innermost ones.
_MOST_FRAMES: Final = 6
#: Lines of a call in which the called function's name is looked for.
_CALL_LINES: Final = 8
#: Backslashes that Python may warn of, which would be printed in the program.
_UNUSUAL_ESCAPE: Final = re.compile(r"\\[^\n\\'\"abfnrtv0-7xNuU]")


class RunningText(NamedTuple):
    """The kept text of what a code object runs: its file, all lines of that, text and SHA-256."""

    path: str
    lines: Sequence[str]
    content: bytes
    sha256: str


#: Texts by identity of the code and the setting `source`; the references tell whether that code
#: still lives, and do not keep it alive.
_texts: Final[dict[tuple[int, Source], tuple[ref[CodeType], RunningText | None]]] = {}
_TEXTS_LIMIT: Final = 1 << 12
#: Bytes of the line table of a function, some 1,500 lines, beyond which a program has written it.
_TABLE_LIMIT: Final = 16 << 10


def launching_files(frames: Sequence[Frame], keep: Source) -> Iterator[RunningText]:
    """Yield the kept text of a stack's innermost frames, up to one without known text.

    Text is kept only if it is what ran: its function is compiled and compared with the running
    code, once for each code object. Of a caller it is kept while its line names the function that
    it calls, which is how readers follow numbers outwards. Functions that a program has written are
    not kept: their numbers do not say how a user's sizes follow. To be used in the journal's
    thread, since files are read.

    Args:
        frames: the stack of a launch, the innermost frame first.
        keep: the setting `source`.

    """
    called: str | None = None
    for frame in frames[:_MOST_FRAMES] if keep != "off" else ():
        code, line = frame.code, frame.line
        text = None if code is None or line is None else _text_of(code, keep)
        if code is None or line is None or text is None or not _names(text.lines, line, called):
            return
        yield text
        called = code.co_name


def _text_of(code: CodeType, keep: Source) -> RunningText | None:
    """Return the text of what a code object runs, None if it is not known; decided once."""
    reference, text = _texts.get((id(code), keep), (None, None))
    if reference is not None and reference() is code:
        return text
    text = _decided_text(code, keep)
    if len(_texts) >= _TEXTS_LIMIT:
        _texts.clear()
    _texts[id(code), keep] = ref(code), text
    return text


def _decided_text(code: CodeType, keep: Source) -> RunningText | None:
    path = code.co_filename
    by_program = is_generated(path) or len(code.co_linetable) > _TABLE_LIMIT
    text = None if by_program else _file_text(path)
    if text is None:
        return None
    is_top = code.co_name == "<module>"
    part, codes = _compiled_part(text, code.co_firstlineno, whole=is_top)
    if code not in codes:
        return None
    if TORCH_FILES not in path:  # whose version tells what importing it runs
        lines = [] if is_top else [code.co_firstlineno]
        part = used_part(text, lines, outermost=True, imported=True)
    content = (text if keep == "files" else part).encode()
    return RunningText(path, lines_of(text), content, content_hash(content))


def _file_text(path: str) -> str | None:
    """Return the text of a Python file, None if it is too large or cannot be read."""
    file = Path(path)
    try:
        status = file.stat()
        is_read = file.suffix == ".py" and status.st_size <= FILE_LIMIT
        return _content(file, status.st_mtime_ns) if is_read else None
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=8)
def _content(file: Path, _: int) -> str:
    """Return a file's text; cached by the time of its last change."""
    return file.read_text(encoding="utf-8")


def _names(lines: Sequence[str], line: int, called: str | None) -> bool:
    """Return whether a call in a line names the function that it calls; None is any."""
    return called is None or called in "".join(lines[line - 1 : line - 1 + _CALL_LINES])


@lru_cache(maxsize=64)
def _compiled_part(text: str, line: int, *, whole: bool) -> tuple[str, tuple[CodeType, ...]]:
    """Return the outermost function around a line, with what it uses, and the code in it; cached.

    `whole` compiles all of the text, as code of a file's top level is made of it. Nothing is
    compiled that does not compile, or that Python might warn of.
    """
    # With its imports: a call of an imported module's function is compiled to other instructions.
    part = text if whole else used_part(text, [line], outermost=True)
    if _UNUSUAL_ESCAPE.search(part):
        return part, ()
    try:
        code = compile(part, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return part, ()
    return part, tuple(_codes(code))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)

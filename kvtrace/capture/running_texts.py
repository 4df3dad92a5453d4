"""The texts of the functions that launch, and of modules beside them, where they are what ran."""

import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Final, NamedTuple
from weakref import ref

from kvtrace.capture.python_source import FILE_LIMIT, used_part
from kvtrace.capture.records import Frame
from kvtrace.capture.stacks import is_generated, is_hidden
from kvtrace.schema.content import TORCH_FILES, content_hash
from kvtrace.settings import Source

#: Most frames of a stack of which text is kept, the innermost ones.
_MOST_FRAMES: Final = 24
#: Most modules beside a program, and bytes of their text, of which text is kept; of more none is.
_MOST_MODULES: Final = 64
_MODULE_BYTES: Final = 512 << 10
#: Backslashes that Python may warn of, which would be printed in the program.
_UNUSUAL_ESCAPE: Final = re.compile(r"\\[^\n\\'\"abfnrtv0-7xNuU]")


#: Raw strings, in which a backslash is none.
_RAW_TEXT: Final = re.compile(r"""(?<!\w)[rR]("{3}|'{3}|["'])(?:\\.|(?!\1).)*?\1""", re.DOTALL)


class RunningText(NamedTuple):
    """The kept text of what a code object runs: its file, text and SHA-256; "": not known."""

    path: str
    content: bytes = b""
    sha256: str = ""


#: Texts by identity of the code and the setting `source`; the references tell whether that code
#: still lives, and do not keep it alive.
_texts: Final[dict[tuple[int, Source], tuple[ref[CodeType], RunningText | None]]] = {}
_TEXTS_LIMIT: Final = 1 << 12
#: Bytes of the line table of a function, some 1,500 lines, beyond which a program has written it.
_TABLE_LIMIT: Final = 16 << 10


def launching_files(frames: Sequence[Frame], keep: Source) -> Iterator[RunningText]:
    """Yield the kept text of a stack's innermost frames, up to one without known text.

    Text is kept only if it is what ran: its function is compiled and compared with the running
    code, once for each code object. Functions that a program has written are not kept: their
    numbers do not say how a user's sizes follow. After a whole stack come the modules that the
    program imports from its own folder. To be used in the journal's thread, since files are read.

    Args:
        frames: the stack of a launch, the innermost frame first.
        keep: the setting `source`.

    """
    for frame in frames[:_MOST_FRAMES] if keep != "off" else ():
        text = None if frame.code is None or frame.line is None else _text_of(frame.code, keep)
        if text is None:
            return
        yield text
    if keep != "off" and 0 < len(frames) <= _MOST_FRAMES and frames[-1].function == "<module>":
        yield from _module_texts(Path(str(frames[-1].file)).parent, len(sys.modules))


@lru_cache(maxsize=8)
def _module_texts(folder: Path, _: int) -> tuple[RunningText, ...]:
    """Return the texts of all modules that were imported from a program's folder; cached.

    They are whole, as any of their functions may be called. If one is not known, or they are many,
    that one alone is returned, without text. Their attributes are read without running code of a
    module's class.
    """
    while (folder / "__init__.py").exists():
        folder = folder.parent
    texts: dict[str, RunningText] = {}
    size = 0
    for module in list(sys.modules.values()):
        is_module = issubclass(type(module), ModuleType)
        names = object.__getattribute__(module, "__dict__") if is_module else {}
        path = names.get("__file__")
        if not isinstance(path, str) or not folder.is_absolute() or names["__name__"] == "__main__":
            continue
        if not path.startswith(f"{folder}/") or "-packages/" in path or is_hidden(path):
            continue
        text = _file_text(path)
        if text is None or not _is_what_ran(text, names, path):
            return (RunningText(path),)
        content = text.encode() or b"\n"  # an artifact is not empty
        size += 0 if path in texts else len(content)
        texts[path] = RunningText(path, content, content_hash(content))
        if len(texts) > _MOST_MODULES or size > _MODULE_BYTES:
            return (RunningText(path),)
    return tuple(texts[path] for path in sorted(texts))


def _is_what_ran(text: str, names: dict[str, object], path: str) -> bool:
    """Return whether a module's functions of a file are in the file's text."""
    _, codes = _compiled_part(text, 1, whole=True)
    functions = [one for one in list(names.values()) if type(one) is FunctionType]
    own = [one.__code__ for one in functions if one.__code__.co_filename == path]
    return bool(codes) and all(code in codes for code in own)


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
    return RunningText(path, content, content_hash(content))


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


@lru_cache(maxsize=64)
def _compiled_part(text: str, line: int, *, whole: bool) -> tuple[str, tuple[CodeType, ...]]:
    """Return the outermost function around a line, with what it uses, and the code in it; cached.

    `whole` compiles all of the text, as code of a file's top level is made of it. Nothing is
    compiled that does not compile, or that Python might warn of.
    """
    # With its imports: a call of an imported module's function is compiled to other instructions.
    part = text if whole else used_part(text, [line], outermost=True)
    if _UNUSUAL_ESCAPE.search(_RAW_TEXT.sub("", part)):
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

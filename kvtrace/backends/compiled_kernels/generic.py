"""MLIR's generic form of TTIR, printed by the installed Triton.

Triton prints each op in a syntax of its own, which changes between versions. MLIR's printer uses
the generic form for a module that does not verify, and a `tt.return` directly in the module's body
is invalid. So the result ends with one op that the kernel does not have: a `tt.return` after the
functions, which is outside of every function and has no effect.
"""

import os
import re
import tempfile
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final

from kvtrace.capture.threads import without_size_signal
from kvtrace.ir.locations import column_shift
from kvtrace.schema.errors import KvtraceError

#: Uses after which a context is dropped.
_USES: Final = 64
_idle: dict[Hashable, list[tuple[Any, int]]] = {}


@contextmanager
def context_with(dialects: Hashable, load: Callable[[Any], None]) -> Iterator[Any]:
    """Yield a context with dialects that nobody else uses meanwhile; after an error it is dropped.

    Args:
        dialects: The name under which contexts with these dialects are cached.
        load: A function that loads the dialects into a new context.

    """
    idle = _idle.setdefault(dialects, [])
    process = os.getpid()
    try:
        context, uses = idle.pop()
    except IndexError:
        from triton._C.libtriton import ir

        context, uses = ir.context(), 0
        load(context)
    yield context
    if uses + 1 < _USES and os.getpid() == process:
        idle.append((context, uses + 1))


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_idle.clear)


# A string literal, and the line and column after it if it is the file name of a location. No
# string holds a plain quote, so this can never start inside one.
_STRING_OR_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*+)"(?::([0-9]+):([0-9]+))?')


class GenericFormFailed(KvtraceError):
    """Raised when Triton cannot read an IR text, or does not print it in generic form."""

    slug: ClassVar[str] = "generic-form"


def generic_ttir(text: str, version: str | None = None) -> str:
    """Return TTIR (or TTGIR) in MLIR's generic form.

    Two corrections make locations equal for all versions of Triton: columns count from 1, and
    locations in the intermediate text itself (block arguments that Triton printed without a
    location get one when read back) are `unknown`.

    Args:
        text: The module as Triton printed it.
        version: The Triton that wrote the locations; None for the installed version.

    Raises:
        GenericFormFailed: This Triton cannot read the text, or did not print the generic form.

    """
    from triton._C.libtriton import ir

    with parsed_by_triton(text) as (module, context, path):
        try:
            _make_invalid(ir, module, context)
            generic = str(module.str())
        except (RuntimeError, TypeError, AttributeError) as error:
            raise GenericFormFailed(_failure("cannot print the IR", text, error)) from error
    if '"tt.func"' not in generic:
        raise GenericFormFailed(_failure("did not print the generic form of the IR", text, None))
    return _correct_locations(generic, path, version)


@lru_cache(maxsize=64)
def generic_once(text: str, version: str | None = None) -> str:
    """Return `generic_ttir`, cached: a kernel's launcher and its record need the same text."""
    return generic_ttir(text, version)


@contextmanager
def parsed_by_triton(text: str) -> Iterator[tuple[Any, Any, str]]:
    """Yield the installed Triton's module of a text, its context, and the file that was read.

    Raises:
        GenericFormFailed: This Triton cannot read the text.

    """
    from triton._C.libtriton import ir

    with context_with("all", _load_dialects) as context, readable_file(text) as path:
        try:
            module = ir.parse_mlir_module(path, context)
        except RuntimeError as error:
            raise GenericFormFailed(_failure("cannot read the IR", text, error)) from error
        module.context = context
        yield module, context, path


def _load_dialects(context: Any) -> None:
    from triton._C import libtriton

    libtriton.ir.load_dialects(context)
    for backend in ("nvidia", "amd"):
        extension = getattr(libtriton, backend, None)
        if extension is not None and hasattr(extension, "load_dialects"):
            extension.load_dialects(context)


def _make_invalid(ir: Any, module: Any, context: Any) -> None:
    """Append a `tt.return` to the module's body, which is invalid there."""
    bodies: list[Any] = []

    def find(op: Any) -> None:
        if op.get_name() == "tt.func":
            bodies.append(op.get_block())

    module.walk(find)
    if not bodies:
        raise RuntimeError("there is no tt.func")
    builder = ir.builder(context)
    builder.set_loc("", 0, 0)
    builder.set_insertion_point_to_end(bodies[0])
    builder.ret([])


@contextmanager
def readable_file(text: str) -> Iterator[str]:
    """Yield the path of a temporary file with the text, since libtriton reads IR only from files.

    The file is in memory if the system has anonymous files: nothing to delete, and no full disk.
    """
    try:
        descriptor = os.memfd_create("kvtrace-ir")
    except (AttributeError, OSError):  # another system, or refused by a filter
        with tempfile.TemporaryDirectory(prefix="kvtrace-") as folder:
            path = Path(folder) / "module.mlir"
            path.write_text(text, encoding="utf-8")
            yield str(path)
        return
    try:
        with without_size_signal(), open(descriptor, "w", encoding="utf-8", closefd=False) as file:
            file.write(text)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _correct_locations(generic: str, path: str, version: str | None) -> str:
    import triton

    shift = column_shift(version or triton.__version__)

    def correct(match: re.Match[str]) -> str:
        file, line, column = match.groups()
        if line is None:
            return match.group()
        if file == path:
            return "unknown"
        return f'"{file}":{line}:{int(column) + shift}'

    return _STRING_OR_LOCATION.sub(correct, generic)


def _failure(problem: str, text: str, error: Exception | None) -> str:
    import triton

    name = re.search(r"tt\.func (?:\w+ )?@([\w$.]+)", text)
    kernel = f" of kernel {name[1]}" if name else ""
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return f"Triton {triton.__version__} {problem}{kernel}{f': {reason}' if error else ''}."

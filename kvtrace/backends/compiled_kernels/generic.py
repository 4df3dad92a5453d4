"""TTIR text to MLIR's generic form, through the Triton that is installed.

Triton prints its IR in a syntax of each op's own, which changes between versions. MLIR's printer
falls back to the one generic form for a module that does not verify, and a `tt.return` straight in
the module's body is enough for that. So the result ends with one op that the kernel does not have:
a `tt.return` after the functions, which is outside every function and has no effect.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from kvtrace.backends.compiled_kernels.mlir_contexts import context_with
from kvtrace.ir.columns import column_shift
from kvtrace.schema.errors import KvtraceError

# A string literal, and the line and column after it if it is the file name of a location. No
# string holds a plain quote, so this can never start inside one.
_STRING_OR_PLACE = re.compile(r'"((?:[^"\\]|\\.)*+)"(?::([0-9]+):([0-9]+))?')


class GenericFormFailed(KvtraceError):
    """Triton could not read the IR text, or did not print it in generic form."""

    slug: ClassVar[str] = "generic-form"


def generic_ttir(text: str, version: str | None = None) -> str:
    """Print TTIR (or TTGIR) in MLIR's generic form.

    Locations are kept, with two corrections that make them equal for all versions of Triton:
    columns count from 1, and places in the intermediate text itself (block arguments that Triton
    printed without a location get one when read back) are `unknown`.

    Args:
        text: the module as Triton printed it.
        version: the Triton whose locations it has; None: the one that is installed.

    Raises:
        GenericFormFailed: this version of Triton cannot read the text, or printed something else.

    """
    from triton._C.libtriton import ir

    with context_with("all", _load_dialects) as context, readable_file(text) as path:
        try:
            module = ir.parse_mlir_module(path, context)
        except RuntimeError as error:
            raise GenericFormFailed(_failure("cannot read the IR", text, error)) from error
        module.context = context
        try:
            _make_invalid(ir, module, context)
            generic = str(module.str())
        except (RuntimeError, TypeError, AttributeError) as error:
            raise GenericFormFailed(_failure("cannot print the IR", text, error)) from error
    if '"tt.func"' not in generic:
        raise GenericFormFailed(_failure("did not print the generic form of the IR", text, None))
    return _correct_places(generic, path, version)


@lru_cache(maxsize=64)
def generic_once(text: str, version: str | None = None) -> str:
    """Return TTIR in generic form; printed once for what executes a kernel and what records it."""
    return generic_ttir(text, version)


def _load_dialects(context: Any) -> None:
    from triton._C import libtriton

    libtriton.ir.load_dialects(context)
    for backend in ("nvidia", "amd"):
        extension = getattr(libtriton, backend, None)
        if extension is not None and hasattr(extension, "load_dialects"):
            extension.load_dialects(context)


def _make_invalid(ir: Any, module: Any, context: Any) -> None:
    """Put a `tt.return` at the end of the module's body, where none may be."""
    bodies: list[Any] = []

    def find(op: Any) -> None:
        if op.get_name() == "tt.func":
            bodies.append(op.get_block())

    module.walk(find)
    if not bodies:
        raise RuntimeError("it has no tt.func")
    builder = ir.builder(context)
    builder.set_loc("", 0, 0)
    builder.set_insertion_point_to_end(bodies[0])
    builder.ret([])


@contextmanager
def readable_file(text: str) -> Iterator[str]:
    """Write the text to where libtriton can read it: it reads IR only by path.

    Memory where the system has anonymous files: nothing to clean up, and no full disk.
    """
    try:
        descriptor = os.memfd_create("kvtrace-ir")
    except (AttributeError, OSError):  # another system, or one that refuses it, as kvtrace judge
        with tempfile.TemporaryDirectory(prefix="kvtrace-") as folder:
            path = Path(folder) / "module.mlir"
            path.write_text(text, encoding="utf-8")
            yield str(path)
        return
    try:
        with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
            file.write(text)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _correct_places(generic: str, path: str, version: str | None) -> str:
    import triton

    shift = column_shift(version or triton.__version__)

    def correct(found: re.Match[str]) -> str:
        file, line, column = found.groups()
        if line is None:
            return found.group()
        if file == path:
            return "unknown"
        return f'"{file}":{line}:{int(column) + shift}'

    return _STRING_OR_PLACE.sub(correct, generic)


def _failure(problem: str, text: str, error: Exception | None) -> str:
    import triton

    name = re.search(r"tt\.func (?:\w+ )?@([\w$.]+)", text)
    kernel = f" of kernel {name[1]}" if name else ""
    reason = f": {_sentence(error)}" if error else ""
    return f"Triton {triton.__version__} {problem}{kernel}{reason}."


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__

"""Modules whose source has moved since they were compiled.

Triton's cache on disk is keyed by the text of a kernel and not by its path, so the IR of a kernel
may name the place where the same text was compiled first.
"""

from kvtrace.ir.model import Module, source_stack


def module_defined_in(text: str, file: str | None, target: str = "") -> Module:
    """Read generic IR whose kernel is defined in `file`; its locations then name that file.

    Locations in other files stay as they are, for nothing says where those are now. `target` is
    what it was compiled for.

    Raises:
        IRSyntaxError: the text is not a generic IR.

    """
    from kvtrace.ir.parser import parse  # a process that evaluates nothing does without

    module = parse(text, target)
    frames = source_stack(module.main.op)
    if not file or not frames or frames[0].file == file:
        return module
    moved = text.replace(f'"{_escaped(frames[0].file)}":', f'"{_escaped(file)}":')
    return parse(moved, target)


def _escaped(path: str) -> str:
    r"""Write a path as LLVM prints strings: ``\\``; ``\HH`` for quotes and the unprintable."""
    return "".join(map(_printed, path.encode()))


def _printed(byte: int) -> str:
    if byte == ord("\\"):
        return "\\\\"
    return chr(byte) if 32 <= byte < 127 and byte != ord('"') else f"\\{byte:02X}"

"""Modules of kernels whose source file has moved since the compilation.

Triton's disk cache is keyed by the text of a kernel and not by its path, so the IR of a kernel may
name another file, in which the same text was compiled first.
"""

from dataclasses import replace

from kvtrace.ir.model import DEFAULTS, Module, Options, source_stack


def module_defined_in(
    text: str, file: str | None, target: str = "", options: Options = DEFAULTS
) -> Module:
    """Parse generic IR of a kernel, with `file` in place of the recorded name of its file.

    Locations in other files do not change, since their new paths are unknown. `target` and
    `options` are those of the compilation.

    Raises:
        IRSyntaxError: the text is not a module in generic form.
    """
    from kvtrace.ir.parser import parse  # processes without evaluation do not import it

    module = replace(parse(text, target), options=options)
    frames = source_stack(module.main.op)
    if not file or not frames or frames[0].file == file:
        return module
    moved = text.replace(f'"{_escaped(frames[0].file)}":', f'"{_escaped(file)}":')
    return replace(parse(moved, target), options=options)


def _escaped(path: str) -> str:
    r"""Return a path as LLVM prints it: ``\\``, and ``\HH`` for quotes and unprintable bytes."""
    return "".join(map(_printed, path.encode(errors="surrogateescape")))


def _printed(byte: int) -> str:
    if byte == ord("\\"):
        return "\\\\"
    return chr(byte) if 32 <= byte < 127 and byte != ord('"') else f"\\{byte:02X}"

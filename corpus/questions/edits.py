"""Edits, and the public files to which they are applied."""

import ast
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import torch
import triton

Kind = Literal["bits", "mathematics", "broken"]

#: The folder with what is not installed: fla, torchao, sglang, tutorials, TritonBench_G_v1.
FOLDER = "EDIT_SOURCES"

#: What a program gave, and what it should have given by torch; None where nobody computed that.
Results = tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...] | None]


@dataclass(frozen=True)
class Source:
    """A public file with kernels, and a function that runs them.

    Attributes:
        name: the name that edits use.
        path: of the file, below the folder `FOLDER` or below where packages are installed.
        run: runs the kernels of the module; with True on inputs that mistakes show on which common
            numbers hide.
        whole: whether the file is executed whole. Else only imports, constants and kernels are,
            without autotuning and heuristics.
    """

    name: str
    path: str
    run: Callable[[Any, bool], Results]
    whole: bool = False


@dataclass(frozen=True)
class Edit:
    """An edit of a source: its effect on results (`kind`), the reason, and the replacement."""

    source: str
    kind: Kind
    why: str
    pattern: str
    replacement: str

    @property
    def name(self) -> str:
        """The source's name and the edit's reason, as a title."""
        return f"{self.source}: {self.why}"


def bits(source: str, why: str, pattern: str, replacement: str) -> Edit:
    """Return an edit after which results have the same bits."""
    return Edit(source, "bits", why, pattern, replacement)


def mathematics(source: str, why: str, pattern: str, replacement: str) -> Edit:
    """Return an edit after which results differ by rounding only."""
    return Edit(source, "mathematics", why, pattern, replacement)


def broken(source: str, why: str, pattern: str, replacement: str) -> Edit:
    """Return an edit after which results are wrong for some input of the recorded shapes."""
    return Edit(source, "broken", why, pattern, replacement)


def file_of_source(path: str) -> Path | None:
    """Return the path of a source's file on this machine, or None if it is missing."""
    named_folder = os.environ.get(FOLDER)
    if named_folder and (Path(named_folder) / path).is_file():
        return Path(named_folder) / path
    spec = importlib.util.find_spec(path.partition("/")[0])
    for folder in (spec and spec.submodule_search_locations) or ():
        if (Path(folder).parent / path).is_file():
            return Path(folder).parent / path
    return None


def edited_text(text: str, edit: Edit | None) -> str:
    """Return the text with every match of the edit's pattern replaced; unchanged without edit."""
    if edit is None:
        return text
    changed, count = re.subn(edit.pattern, edit.replacement, text)
    if not count or changed == text:
        raise SystemExit(f"{edit.name}: nothing matches")
    return changed


@contextmanager
def module(source: Source, file: Path, folder: Path, edit: Edit | None) -> Iterator[ModuleType]:
    """Yield a copy of a file, edited or not, as the imported module of its usual name."""
    named_folder = os.environ.get(FOLDER)
    if named_folder and named_folder not in sys.path:
        sys.path.append(named_folder)
    copy = folder / file.name.replace("-", "_")
    copy.write_text(edited_text(file.read_text(encoding="utf-8"), edit), encoding="utf-8")
    full = source.path.removesuffix(".py").replace("/", ".").replace("-", "_")
    if source.whole:
        importlib.import_module(full)  # what the package's other modules take from it stays theirs
    new_module = ModuleType(full)
    new_module.__file__ = str(copy)
    replaced_module = sys.modules.get(full)
    sys.modules[full] = new_module
    try:
        _execute(new_module, copy, whole=source.whole)
        yield new_module
    finally:
        del sys.modules[full]
        if replaced_module is not None:
            sys.modules[full] = replaced_module


def _execute(made: ModuleType, file: Path, *, whole: bool) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    if whole:
        exec(compile(tree, str(file), "exec"), made.__dict__)
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = [
                decorator
                for decorator in node.decorator_list
                if ast.unparse(decorator).startswith("triton.jit")
            ]
        is_kernel = isinstance(node, ast.FunctionDef) and node.decorator_list
        if not (is_kernel or isinstance(node, ast.Import | ast.ImportFrom | ast.Assign)):
            continue
        try:
            exec(compile(ast.Module([node], type_ignores=[]), str(file), "exec"), made.__dict__)
        except Exception:  # a package that no kernel needs, or a device
            if is_kernel:
                raise


def blocks(size: int, block: int) -> int:
    """Return ceil(size / block)."""
    return triton.cdiv(size, block)

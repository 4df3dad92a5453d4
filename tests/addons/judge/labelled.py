"""The labelled kernels: what each is compared with, and what a wrong one is told."""

import ast
from pathlib import Path
from typing import Final

from kvtrace.addons.judge.request import Place, Request, entry_of, read_file

FOLDER: Final = Path(__file__).parent
_REFERENCES: Final = {
    "matmul_half": "matmul_half", "matmul_half_sum": "matmul_half", "row_sum_half": "row_sum_half",
}  # fmt: skip


def labelled(kind: str) -> dict[str, Path]:
    """Return the files of a kind, right or wrong, by name."""
    return {path.stem: path for path in sorted((FOLDER / "kernels" / kind).glob("*.py"))}


def request_of(path: Path) -> Request:
    """Return what judging a labelled kernel asks for."""
    entry = entry_of(read_file(path), None)
    if entry.name == "ModelNew":
        return Request(entry, Place(FOLDER / "model_reference.py", "Model"))
    name = _REFERENCES.get(path.stem, entry.name)
    return Request(entry, Place(FOLDER / "references.py", name))


def expected_rule(path: Path) -> str:
    """Return the rule that a wrong kernel's first line names."""
    return path.read_text(encoding="utf-8").split('"""')[1].partition(":")[0]


def pairs() -> dict[str, Path]:
    """Return the files that hold a cheat and its honest twin, by name."""
    files = sorted((FOLDER / "cheats").glob("*.py"))
    return {path.stem: path for path in files if path.stem != "simple"}


def request_for(path: Path, name: str) -> Request:
    """Return what judging one function of a pair asks for."""
    return Request(Place(path, name), Place(FOLDER / "references.py", expected_rule(path)))


def deceptions() -> dict[str, Request]:
    """Return what judging the candidates of `deceptions/` asks for, by file and name."""
    found = {}
    for path in sorted((FOLDER / "deceptions").glob("*.py")):
        if path.stem in ("kernels", "at_start"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            said = ast.get_docstring(node)
            if said is None:
                continue  # a kernel of the candidates
            module, _, name = said.partition(":")[0].rpartition(".")
            file = FOLDER / "deceptions" / f"{module}.py" if module else FOLDER / "references.py"
            found[f"{path.stem}.{node.name}"] = Request(Place(path, node.name), Place(file, name))
    return found

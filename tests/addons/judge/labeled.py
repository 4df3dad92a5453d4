"""Labeled kernels, cheats and deceptions: their references, requests and expected rules."""

import ast
from pathlib import Path
from typing import Final

from kvtrace.addons.judge.request import Place, Request, entry_of, read_file

FOLDER: Final = Path(__file__).parent
_REFERENCES: Final = {
    "matmul_half": "matmul_half", "matmul_half_sum": "matmul_half", "row_sum_half": "row_sum_half",
}  # fmt: skip


def labeled(kind: str) -> dict[str, Path]:
    """Return the files of the right or the wrong kernels by name."""
    return {path.stem: path for path in sorted((FOLDER / "kernels" / kind).glob("*.py"))}


def request_of(path: Path) -> Request:
    """Return the request that judges a labeled kernel."""
    entry = entry_of(read_file(path), None)
    if entry.name == "ModelNew":
        return Request(entry, Place(FOLDER / "model_reference.py", "Model"))
    name = _REFERENCES.get(path.stem, entry.name)
    return Request(entry, Place(FOLDER / "references.py", name))


def expected_rule(path: Path) -> str:
    """Return the rule that a wrong kernel's first line names."""
    return path.read_text(encoding="utf-8").split('"""')[1].partition(":")[0]


def pairs() -> dict[str, Path]:
    """Return the files with a cheat and its honest twin by name."""
    files = sorted((FOLDER / "cheats").glob("*.py"))
    return {path.stem: path for path in files if path.stem != "simple"}


def request_for(path: Path, name: str) -> Request:
    """Return the request that judges one function of a pair."""
    return Request(Place(path, name), Place(FOLDER / "references.py", expected_rule(path)))


def deceptions() -> dict[str, Request]:
    """Return the requests that judge the candidates of `deceptions/` by file and name."""
    requests = {}
    for path in sorted((FOLDER / "deceptions").glob("*.py")):
        if path.stem in ("kernels", "at_start", "positive"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            docstring = ast.get_docstring(node)
            if docstring is None:
                continue  # a kernel of the candidates
            module, _, name = docstring.partition(":")[0].rpartition(".")
            file = FOLDER / "deceptions" / f"{module}.py" if module else FOLDER / "references.py"
            requests[f"{path.stem}.{node.name}"] = Request(
                Place(path, node.name), Place(file, name)
            )
    return requests

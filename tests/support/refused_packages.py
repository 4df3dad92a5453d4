"""A Python in which packages are as if they were not installed, whatever is."""

import os
from pathlib import Path

#: What a recorder does without; and what kvtrace has needed before.
REFUSED = (
    "numpy", "duckdb", "z3", "ml_dtypes", "threadpoolctl", "zstandard", "typer", "click", "rich",
    "pandas", "scipy", "demangle", "msgspec",
)  # fmt: skip
#: Is read by every Python that is started with its folder on PYTHONPATH.
_CUSTOMIZED = """
import sys
from importlib.machinery import PathFinder

class Refusing(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.split(".")[0] not in {refused!r}:
            return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Refusing
"""


def without(folder: Path, *path: Path, refused: tuple[str, ...] = REFUSED) -> dict[str, str]:
    """Return an environment whose Pythons refuse packages; `path` goes on PYTHONPATH, too."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_CUSTOMIZED.format(refused=set(refused)))
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (folder, *path)))}

"""Files that are imported by their path."""

import importlib.util
from pathlib import Path
from typing import Any


def imported_file(path: Path, name: str = "") -> Any:
    """Run a file, and return its module, which has this name, or the file's."""
    spec = importlib.util.spec_from_file_location(name or path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

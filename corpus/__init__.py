"""Kernels with their truth, by topic: data that tests and benchmarks read, and its only loader.

A topic is a folder. Each of its files has a list `CASES`, each with a name and its truth.
`index.toml` says of a topic what it asks, where its truth comes from, who wrote it and what reads
it; `questions/` has the types of cases, and how each is put to kvtrace. `kernels/` are the kernels
whose truth is what a device answered (`tests/evaluate/device_answers.npz`) or NumPy computes
(`tests/kernels/catalog.py`).
"""

import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

FOLDER: Final = Path(__file__).parent
#: What is known of each topic, by its name.
INDEX: Final[dict[str, dict[str, Any]]] = tomllib.loads(
    (FOLDER / "index.toml").read_text(encoding="utf-8")
)


@cache
def files(topic: str) -> tuple[ModuleType, ...]:
    """Return the modules of a topic, by name."""
    names = sorted(path.stem for path in (FOLDER / topic).glob("*.py"))
    return tuple(import_module(f"{__name__}.{topic}.{name}") for name in names)


def load(topic: str) -> tuple[Any, ...]:
    """Return all cases of a topic, in the order of its files' names."""
    return tuple(case for module in files(topic) for case in module.CASES)

"""The part of docs/nki.md that follows from the code: which public names are there.

`python -m tests.addons.neuron.documentation` writes it.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.neuron.missing import REFUSED
from kvtrace.addons.neuron.newer.tensors import NkiTensor
from kvtrace.addons.neuron.older.tiles import Tile
from kvtrace.addons.neuron.stand_ins import MODULES
from kvtrace.addons.neuron.tokens import Token
from tests.addons.neuron.public_names import PUBLIC
from tests.addons.neuron.public_signatures import SIGNATURES

PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "nki.md"
STATES: Final = ("works", "refused", "missing")
_START: Final = "<!-- coverage: written by tests/addons/neuron/documentation.py -->\n"
_CLASSES: Final = {"tensors of neuronxcc.nki": Tile, "nki.language.NkiTensor": NkiTensor}


def state(module: str, name: str) -> str:
    """Which of `STATES` a public name is in, as a program of a user finds it.

    A function that does not take its documented parameters, in their order, is missing.
    """
    found: Any = _CLASSES.get(module) or (module in MODULES and import_module(MODULES[module]))
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            return "refused" if f"{module}.{name}" in REFUSED else "missing"
    wanted = SIGNATURES.get(module, {}).get(name)
    return "works" if wanted is None or takes(found, wanted.split()) else "missing"


def takes(function: Any, wanted: list[str]) -> bool:
    """Whether a function takes parameters, each by its name and all but the last by place.

    Its own further parameters may not come before them.
    """
    if isinstance(function, Token):
        return wanted == [*("x", "y")[: function.arity], "dtype"]
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    placed = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    named = {each.name for each in parameters}
    ordered = [name for name in wanted if name in placed]
    last = ("name", "engine", "dtype", "mask")  # given by their names
    return set(wanted) <= named and all(
        one == other
        for one, other in zip(ordered, placed, strict=False)
        if one not in last and other not in last
    )


def names() -> list[tuple[str, str, str]]:
    """Every public name: its module, the part of the documentation it stands in, and itself."""
    return [
        (module, part, name)
        for module, parts in PUBLIC.items()
        for part, listed in parts.items()
        for name in dict.fromkeys(listed.split())
    ]


def coverage() -> str:
    """Give how many names of each module are in each state, then every name."""
    states = {(module, part, name): state(module, name) for module, part, name in names()}
    lines = ["| | works | refused | missing |", "|---|---:|---:|---:|"]
    for module in PUBLIC:
        own = [found for key, found in states.items() if key[0] == module]
        lines.append(f"| {_title(module)} | {' | '.join(str(own.count(s)) for s in STATES)} |")
    lines += ["", "| | works | refused | missing |", "|---|---|---|---|"]
    for module, parts in PUBLIC.items():
        for part in parts:
            cells = [
                ", ".join(
                    f"`{key[2]}`"
                    for key, found in states.items()
                    if key[:2] == (module, part) and found == wanted
                )
                for wanted in STATES
            ]
            lines.append(f"| {_title(module)}, {part} | {' | '.join(cells)} |")
    lines += ["", *(f"- `{name}` is refused: {why}." for name, why in REFUSED.items())]
    return "\n".join(lines)


def _title(module: str) -> str:
    return module if " " in module else f"`{module}`"


def written(page: str) -> str:
    """Give the page with its table as it should be."""
    pattern = re.escape(_START) + r".*?<!-- end -->"
    assert re.search(pattern, page, re.DOTALL)
    text = f"{_START}{coverage()}\n<!-- end -->"
    return re.sub(pattern, lambda _: text, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

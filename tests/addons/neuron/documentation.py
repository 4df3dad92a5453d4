"""The table of public names in docs/nki.md, derived from the code.

`python -m tests.addons.neuron.documentation` writes the table.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.neuron.errors import REFUSED
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
    """Return the state in which a user's program finds a public name: one of `STATES`.

    A function that does not take its documented parameters in their order is missing.
    """
    entry: Any = _CLASSES.get(module) or (module in MODULES and import_module(MODULES[module]))
    for part in name.split("."):
        try:
            entry = getattr(entry, part)
        except AttributeError:
            return "refused" if f"{module}.{name}" in REFUSED else "missing"
    documented = SIGNATURES.get(module, {}).get(name)
    return "works" if documented is None or takes(entry, documented.split()) else "missing"


def takes(function: Any, documented: list[str]) -> bool:
    """Return whether a function takes the documented parameters by name, and in order by position.

    Undocumented parameters may not precede the documented ones.
    """
    if isinstance(function, Token):
        return documented == [*("x", "y")[: function.arity], "dtype"]
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    positional = [
        parameter.name
        for parameter in parameters
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    named = {parameter.name for parameter in parameters}
    ordered = [name for name in documented if name in positional]
    last = ("name", "engine", "dtype", "mask")  # given by their names
    return set(documented) <= named and all(
        one == other
        for one, other in zip(ordered, positional, strict=False)
        if one not in last and other not in last
    )


def names() -> list[tuple[str, str, str]]:
    """Return (module, section of the documentation, name) of every public name."""
    return [
        (module, part, name)
        for module, parts in PUBLIC.items()
        for part, text in parts.items()
        for name in dict.fromkeys(text.split())
    ]


def coverage() -> str:
    """Return the number of names in each state per module, then the names that do not work."""
    states = {(module, part, name): state(module, name) for module, part, name in names()}
    lines = ["| | works | refused | missing |", "|---|---:|---:|---:|"]
    for module in PUBLIC:
        module_states = [name_state for key, name_state in states.items() if key[0] == module]
        counts = (str(module_states.count(listed_state)) for listed_state in STATES)
        lines.append(f"| {_title(module)} | {' | '.join(counts)} |")
    missing = [
        f"{key[0]}.{key[2]}" for key, name_state in states.items() if name_state == "missing"
    ]
    lines += ["", *(f"- `{name}` is missing." for name in missing)]
    lines += [f"- `{name}` is refused: {why}." for name, why in REFUSED.items()]
    return "\n".join(lines)


def _title(module: str) -> str:
    return module if " " in module else f"`{module}`"


def written(page: str) -> str:
    """Return the page with its table up to date."""
    pattern = re.escape(_START) + r".*?<!-- end -->"
    assert re.search(pattern, page, re.DOTALL)
    text = f"{_START}{coverage()}\n<!-- end -->"
    return re.sub(pattern, lambda _: text, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

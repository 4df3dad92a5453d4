"""What a kernel's source declares that the kernel writes: by Inductor, and for autotuners.

Inductor writes `mutated_arg_names` into the decorator of each kernel that it generates: arguments
whose contents matter before the kernel, and that it changes. Its autotuner restores these between
trials, and its results are named `out_ptr…`. Triton's `@triton.autotune` restores `restore_value`
and zeroes `reset_to_zero`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

Source = Literal["inductor", "autotune"]

_OUTPUT: Final = "out_ptr"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the decorators of a kernel say of its arguments.

    Attributes:
        source: who declares: Inductor, or `@triton.autotune`.
        changed: names of arguments whose contents are restored or zeroed between trials.
        trials: whether the kernel may run more than once for a launch, with several configurations.
    """

    source: Source
    changed: frozenset[str]
    trials: bool

    def permits_write(self, name: str) -> bool:
        """Return whether the kernel may write an argument."""
        return self.source == "autotune" or name in self.changed or name.startswith(_OUTPUT)

    def permits_update(self, name: str) -> bool:
        """Return whether the kernel may read an argument's contents and change them."""
        return name in self.changed or not self.trials


def declaration(file: str, kernel: str) -> Declaration | None:
    """Return what a source file declares of a kernel's function; None: nothing, or not known."""
    try:
        tree = ast.parse(file)
    except (SyntaxError, ValueError):  # a file may have been recorded in part
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == kernel:
            for decorator in node.decorator_list:
                declared = _declared(decorator)
                if declared is not None:
                    return declared
    return None


def _declared(decorator: ast.expr) -> Declaration | None:
    if not isinstance(decorator, ast.Call):
        return None
    keywords = {keyword.arg: keyword.value for keyword in decorator.keywords}
    if "inductor_meta" in keywords:
        for key, value in _items(keywords["inductor_meta"]):
            if key == "mutated_arg_names":
                return Declaration("inductor", frozenset(_names(value)), trials=True)
        return None
    function = decorator.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name != "autotune":
        return None
    changed = {
        text for key in ("restore_value", "reset_to_zero") for text in _names(keywords.get(key))
    }
    configurations = keywords.get("configs", decorator.args[0] if decorator.args else None)
    single = isinstance(configurations, ast.List) and len(configurations.elts) < 2
    return Declaration("autotune", frozenset(changed), trials=not single)


def _items(node: ast.expr) -> Iterator[tuple[Any, ast.expr]]:
    """Yield keys and values of a dictionary in source."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield key.value, value


def _names(node: ast.expr | None) -> list[str]:
    """Return the texts of a list in source."""
    elements = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else []
    return [
        element.value
        for element in elements
        if isinstance(element, ast.Constant) and isinstance(element.value, str)
    ]

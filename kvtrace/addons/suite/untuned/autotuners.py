"""Autotuners of kernels, as their recorded source declares them.

Read from decorators, without executing anything: `triton.autotune(configs=…, key=…)` and functions
of other libraries that are named so and take the same, and Inductor's
`triton_heuristics.reduction(…, inductor_meta={…})`.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_INDUCTOR: Final = "triton_heuristics"


@dataclass(frozen=True, slots=True)
class Autotuner:
    """What a decorator says of a kernel's configurations.

    Attributes:
        name: of the decorator, as `autotune` or `reduction`.
        by_inductor: it is Inductor's; it tunes at the first launch, whatever the sizes are later.
        configurations: how many the source lists; None: it computes them.
        key: arguments whose change starts new trials; None: the source computes them.
        options: constants of Inductor's `inductor_meta`, and its `reduction_hint`, by name.
    """

    name: str
    by_inductor: bool
    configurations: int | None
    key: tuple[str, ...] | None
    options: Mapping[str, Any] = field(default_factory=dict)


def declared_autotuner(text: str, name: str, line: int | None) -> Autotuner | None:
    """Return the autotuner of a recorded function; None if it has none.

    It is the function at `line`, or else the last one that is called `name`: Inductor numbers the
    names of kernels that a user wrote.

    Raises:
        LookupError: `text` cannot be parsed, or does not define the function, so that nothing is
            known.
    """
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise LookupError(f"its source cannot be parsed: {error}") from error
    functions = list(_functions(module))
    chosen = [node for node in functions if node.lineno == line]
    chosen = chosen or [node for node in functions if node.name == name]
    if not chosen:
        raise LookupError(f"its source does not define {name}")
    for decorator in chosen[-1].decorator_list:
        if isinstance(decorator, ast.Call):
            autotuner = _autotuner(decorator)
            if autotuner is not None:
                return autotuner
    return None


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """Yield the functions in a module or statement; expressions, most of the nodes, have none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            if isinstance(child, ast.FunctionDef):
                yield child
            yield from _functions(child)


def _autotuner(decorator: ast.Call) -> Autotuner | None:
    function = decorator.func
    name = getattr(function, "attr", getattr(function, "id", ""))
    owner = getattr(function, "value", None)
    by_inductor = getattr(owner, "attr", getattr(owner, "id", "")) == _INDUCTOR
    if not by_inductor and "autotune" not in name:
        return None
    keywords = {keyword.arg: keyword.value for keyword in decorator.keywords if keyword.arg}
    positional = dict(zip(("configs", "key"), decorator.args, strict=False))
    values = keywords if by_inductor else positional | keywords
    options = _constants(values.get("inductor_meta"))
    hint = values.get("reduction_hint")
    if isinstance(hint, ast.Attribute):
        options["reduction_hint"] = hint.attr
    return Autotuner(
        name, by_inductor, _length(values.get("configs")), _texts(values.get("key")), options
    )


def _length(node: ast.expr | None) -> int | None:
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    return None if any(isinstance(item, ast.Starred) for item in node.elts) else len(node.elts)


def _texts(node: ast.expr | None) -> tuple[str, ...] | None:
    if _length(node) is None or not isinstance(node, ast.List | ast.Tuple):
        return None
    values = [item.value for item in node.elts if isinstance(item, ast.Constant)]
    texts = tuple(value for value in values if isinstance(value, str))
    return texts if len(texts) == len(node.elts) else None


def _constants(node: ast.expr | None) -> dict[str, Any]:
    if not isinstance(node, ast.Dict):
        return {}
    return {
        key.value: value.value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
        and isinstance(key.value, str)
        and isinstance(value, ast.Constant)
    }

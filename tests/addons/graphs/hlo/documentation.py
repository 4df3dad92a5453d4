"""The parts of docs/hlo.md that follow from the code.

`python -m tests.addons.graphs.hlo.documentation` writes them.
"""

import re
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np

from kvtrace.addons.graphs.hlo import families, trace
from kvtrace.addons.graphs.hlo.dtypes import (
    BFLOAT16,
    BOOL,
    FLOAT8,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INTEGERS,
    promote,
    promote_with_scalar,
)
from tests.addons.graphs.hlo import xla

PAGE = Path(__file__).resolve().parents[4] / "docs" / "hlo.md"
assert families is not None


def promotion():
    """The table of kinds, each row checked for every type of its kind."""
    kinds = {
        "bool": (BOOL,),
        "integer": INTEGERS,
        "float8": FLOAT8,
        "bfloat16": (BFLOAT16,),
        "float16": (FLOAT16,),
        "float32": (FLOAT32,),
        "float64": (FLOAT64,),
    }
    scalars = {"Python int": 2, "Python float": 0.5}
    lines = [
        f"| | {' | '.join([*kinds, *scalars])} |",
        f"|---{'|---' * (len(kinds) + len(scalars))}|",
    ]
    for name, row in kinds.items():
        cells = [_result(row, column) for column in kinds.values()]
        cells += [
            _named([promote_with_scalar(d, value) for d in row], row) for value in scalars.values()
        ]
        lines.append(f"| **{name}** | {' | '.join(cells)} |")
    return "\n".join(lines)


def _result(row, column):
    results = [promote(left, right) for left in row for right in column if left != right]
    if row is column and len(row) == 1:
        return row[0].name
    if row is column:
        return "as NumPy" if row is INTEGERS else _named(results, ())
    for kind, name in ((row, "row"), (column, "column")):
        if len(kind) > 1 and all(result in kind for result in results):
            return "the " + ("integer" if kind is INTEGERS else "float8")
        assert name
    return _named(results, ())


def _named(results, kept):
    if kept and len(kept) > 1 and all(a == b for a, b in zip(results, kept, strict=True)):
        return "the integer" if kept is INTEGERS else "the float8"
    names = {result.name for result in results}
    assert len(names) == 1, names
    return names.pop()


#: Questions whose answers StableHLO leaves to the implementation, or an implementation changes.
QUESTIONS = {
    "float32 to int8: 300, -300": ([300, -300], lambda x: x.astype(np.int8)),
    "float32 to uint8: 300, -1": ([300, -1], lambda x: x.astype(np.uint8)),
    "`sign`: -0": ([-0.0], lambda x: np.sign(x)),
    "`maximum` with 0: -0": ([-0.0], lambda x: np.maximum(x, np.float32(0))),
    "`maximum` of 0 with -0": ([0.0], lambda x: np.maximum(x, -x)),
    "`minimum` of 0 with -0": ([0.0], lambda x: np.minimum(x, -x)),
    "`power` 0.5: -0, -inf": ([-0.0, -np.inf], lambda x: np.power(x, np.float32(0.5))),
    "float64 to float8_e4m3fn: 1.0625 + 2⁻⁴⁰": (
        np.array([1.0625 + 2**-40]), lambda x: x.astype(ml_dtypes.float8_e4m3fn),
    ),
    "float64 to bfloat16: 1 + 2⁻⁸ + 2⁻⁴⁰": (
        np.array([1 + 2**-8 + 2**-40]), lambda x: x.astype(ml_dtypes.bfloat16),
    ),
    "float32 denormal 1e-40, times 1": ([1e-40], lambda x: x * np.float32(1)),
    "floor of x / 41: 41": ([41], lambda x: np.floor(x / np.float32(41))),
    "x + 3·2²² - 3·2²²: 0.7": ([0.7], lambda x: (x + np.float32(3 << 22)) - np.float32(3 << 22)),
    "exp(x) · exp(-x): 100": ([100], lambda x: np.exp(x) * np.exp(-x)),
}  # fmt: skip


def implementations():
    """Answers of a graph's evaluation and of XLA on a CPU, where they differ."""
    lines = ["| question | evaluation | XLA |", "|---|---|---|"]
    for question, (inputs, function) in QUESTIONS.items():
        x = inputs if isinstance(inputs, np.ndarray) else np.array(inputs, np.float32)
        graph = trace(function).specialize(x)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            ours = _texts(graph.evaluate(x)[0])
        theirs = _texts(xla.run(graph.to_stablehlo(), x)[0])
        if ours != theirs:
            lines.append(f"| {question} | {ours} | {theirs} |")
    return "\n".join(lines)


def _texts(array):
    return ", ".join(f"{value:.6g}" for value in array.astype(np.float64))


def written(page):
    """The page with its parts as they should be."""
    for part in (promotion, implementations):
        start = f"<!-- {part.__name__}: written by tests/addons/graphs/hlo/documentation.py -->\n"
        pattern = re.escape(start) + r".*?<!-- end -->"
        assert re.search(pattern, page, re.DOTALL), part.__name__
        text = f"{start}{part()}\n<!-- end -->"
        page = re.sub(pattern, lambda _, text=text: text, page, flags=re.DOTALL)
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

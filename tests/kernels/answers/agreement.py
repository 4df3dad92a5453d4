"""Agreement with a device: how far the evaluator's answers may lie apart, and where they do.

Answers to questions of agreement "bits" are equal; those of approximate functions, and of sums in
an order left open, are at most `STEPS` representable values apart. What is not is one line of the
list of differences: op, dtype, places, largest distance in steps ("unlike" if only one is NaN, or
an integer differs), reason. NaN of other bits are counted apart.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kvtrace.evaluate.fixed_order import in_fixed_order
from tests.kernels.answers.compared import UNLIKE, comparison, evaluated
from tests.kernels.answers.question import BITS, ORDER, Buffer, Question
from tests.kernels.answers.table import Answer, Run

_FOLDER = Path(__file__).parent.parent.parent / "evaluate"
ANSWERS = _FOLDER / "device_answers.npz"
DIFFERENCES = _FOLDER / "device_differences.txt"

STEPS = 4
"""The distance that approximate functions and sums are within, unless the list says otherwise."""

Key = tuple[str, str]
"""A subject (`subject_of`) and a dtype."""


@dataclass
class Difference:
    """Values of one subject and dtype that are further apart than stated for all."""

    places: int = 0
    steps: int = 0
    reason: str = ""

    def add(self, steps: np.ndarray) -> None:
        """Count distances."""
        self.places += len(steps)
        self.steps = max(self.steps, int(steps.max()))

    @property
    def distance(self) -> str:
        return "unlike" if self.steps == int(UNLIKE) else str(self.steps)


@dataclass
class Totals:
    """Numbers of values: all, those with equal bits, NaN of other bits, the rest."""

    values: int = 0
    equal: int = 0
    other_nan: int = 0
    within: int = 0


def subject_of(op: str) -> str:
    """Return an op's name without the operands and axes that it was asked about."""
    return re.sub(r", (one term|special|random|contended|reverse|\d+ rows|axis \d)", "", op)


def compare(
    questions: Iterable[tuple[Question, Answer]], run: Run
) -> tuple[dict[Key, Difference], Totals]:
    """Evaluate questions that a device answered; return what lies too far apart, and counts.

    Sums are evaluated in a fixed order, which no library of matrix products, and no processor that
    one chooses its functions by, changes.
    """
    result: dict[Key, Difference] = {}
    totals = Totals()
    for question, answer in questions:
        if isinstance(answer, str):
            continue
        ours = _evaluated(question, run)
        allowed = 0 if question.agreement == BITS else STEPS
        for name, bits in answer.items():
            buffer = question.arguments[name]
            assert isinstance(buffer, Buffer)
            compared = comparison(buffer.dtype, ours[name], bits)
            beyond = compared.steps[compared.steps > allowed]
            totals.values += compared.values
            totals.equal += compared.equal
            totals.other_nan += compared.other_nan
            totals.within += len(compared.steps) - len(beyond)
            if len(beyond):
                key = subject_of(question.op), question.dtype
                result.setdefault(key, Difference()).add(beyond)
    return result, totals


def _evaluated(question: Question, run: Run) -> dict[str, np.ndarray]:
    target = f"cuda:{run.capability.removeprefix('sm_')}"
    with np.errstate(all="ignore"):
        if question.agreement == ORDER:
            with in_fixed_order():
                return dict(evaluated(question, target))
        return dict(evaluated(question, target))


def listed() -> dict[Key, Difference]:
    """Return the list of differences."""
    result = {}
    for line in DIFFERENCES.read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        op, dtype, places, distance, reason = (part.strip() for part in line.split("|"))
        steps = int(UNLIKE) if distance == "unlike" else int(distance)
        result[op, dtype] = Difference(int(places), steps, reason)
    return result


def complaints(measured: Mapping[Key, Difference], listed: Mapping[Key, Difference]) -> list[str]:
    """Return one sentence for each difference that is not listed, or larger than listed."""
    result = []
    for (op, dtype), difference in measured.items():
        line = listed.get((op, dtype), Difference())
        if difference.places > line.places or difference.steps > line.steps:
            result.append(
                f"{op} {dtype}: {difference.places} places, up to {difference.distance} steps; "
                f"listed: {line.places}, {line.distance}"
            )
    return result

"""The document of what the evaluator covers, made from a device's answers and the differences.

python -m tests.kernels.coverage        # rewrites docs/internals/coverage.md, which a test compares
"""

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

from tests.kernels.answers.agreement import ANSWERS, STEPS, listed, subject_of
from tests.kernels.answers.compared import comparison
from tests.kernels.answers.corners import Corner
from tests.kernels.answers.corners import corners as early_corners
from tests.kernels.answers.fresh import first, second, third
from tests.kernels.answers.question import BITS, LAST_BITS, Buffer, Question
from tests.kernels.answers.table import Answer, Table, count, read
from tests.kernels.answers.values import FLOATS, FORMATS, INTEGERS, Bits
from tests.kernels.case import NUMPY
from tests.kernels.catalog import ALL_CASES

CORNER = "corner, "
DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "internals" / "coverage.md"

#: Functions of `triton.language` that name no row of the table: where they are tested instead.
ELSEWHERE: dict[str, str] = {
    "add": "the operators (philox)",
    "sub": "the operators",
    "mul": "the operators (philox)",
    "arange": "every case",
    "zeros": "tests/evaluate/test_evaluate_tutorial_kernels.py",
    "load": "load, store",
    "store": "load, store",
    "where": "where",
    "cast": "to",
    "program_id": "program_id, num_programs",
    "num_programs": "program_id, num_programs",
    "make_block_ptr": "make_block_ptr, advance",
    "advance": "make_block_ptr, advance",
    "load_tensor_descriptor": "make_tensor_descriptor",
    "store_tensor_descriptor": "make_tensor_descriptor",
    "broadcast": "broadcast of two",
    "broadcast_to": "broadcast",
    "philox": "rand, randint, randn",
    "philox_impl": "rand, randint, randn",
    "pair_uniform_to_normal": "randn",
    "assume": "load, store: hints and modifiers",
    "multiple_of": "load, store: hints and modifiers",
    "max_contiguous": "load, store: hints and modifiers",
    "max_constancy": "a hint that leaves no op",
    "debug_barrier": "load, store: hints and modifiers",
    "device_assert": "tests/evaluate/test_evaluate_language.py",
    "device_print": "tests/evaluate/test_evaluate_language.py",
    "inline_asm_elementwise": "tests/evaluate/test_evaluate_language.py",
    "map_elementwise": "tests/evaluate/test_evaluate_language.py",
    "squeeze": "tests/evaluate/test_evaluate_language.py",
    "unsqueeze": "tests/evaluate/test_evaluate_language.py",
    "to_tensor": "tests/evaluate/test_evaluate_language.py",
    "expect_zero": "tests/evaluate/test_evaluate_language.py",
    "atomic_load": "tests/evaluate/dialects/test_tt_atomic.py",
    "atomic_store": "tests/evaluate/dialects/test_tt_atomic.py",
    "atomic_poll": "tests/evaluate/dialects/test_tt_atomic.py",
    "softmax": "max, exp, sum; tests/evaluate/test_evaluate_basic_kernels.py",
    "static_assert": "compile time",
    "static_print": "compile time",
}


def language() -> list[str]:
    """Return the names of the public functions of `triton.language`."""
    return [
        name
        for name in sorted(dir(tl))
        if not name.startswith("_") and _is_of_triton(getattr(tl, name))
    ]


def _is_of_triton(member: Any) -> bool:
    if isinstance(member, triton.runtime.jit.JITCallable):
        return True
    return inspect.isfunction(member) and bool(getattr(member, "__triton_builtin__", False))


def forgotten() -> list[str]:
    """Return the public functions that neither a case nor the list above contains."""
    rows = {case.op for case in ALL_CASES}
    return [name for name in language() if name not in rows and name not in ELSEWHERE]


@dataclass
class Row:
    """Types of an op's operands, by what was answered."""

    equal: list[str] = field(default_factory=list)
    within: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    failing: list[str] = field(default_factory=list)

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(map(_short, (self.equal, self.within, self.listed, self.failing)))


_MANY = 8


def _short(dtypes: Sequence[str]) -> str:
    """Return types in one cell: a count of many kinds, a word for all integers or floats."""
    names = list(dict.fromkeys(map(_of_one_type, dtypes)))
    for word, group in (("integers", INTEGERS), ("floats", FLOATS)):
        if set(group) <= set(names):
            names = [word, *(name for name in names if name not in group)]
    names.sort(key=lambda name: not name.endswith("s"))
    if len(names) > _MANY:
        return f"{len(names)} kinds"
    return ", ".join(names)


def _of_one_type(dtypes: str) -> str:
    """Return the types of operands; one, if they are equal."""
    first, *others = dtypes.split()
    return first if set(others) == {first} else dtypes


def _joined(names: Sequence[str]) -> str:
    """Return names in one cell; those that end in the four directions of rounding as one."""
    stems = dict.fromkeys(_DIRECTED.sub("", name) for name in names)
    forms = {stem: [name for name in names if _DIRECTED.sub("", name) == stem] for stem in stems}
    shown = [
        f"{stem}_r*" if len(forms[stem]) == len("nzdu") else ", ".join(forms[stem])
        for stem in stems
    ]
    return ", ".join(f"`{name}`" for name in ", ".join(shown).split(", ")).replace("|", "\\|")


_DIRECTED = re.compile(r"_r[nzdu]$")


def rows(table: Table) -> dict[str, Row]:
    """Return a row for each op; the language refuses the types that it does not name."""
    result: dict[str, Row] = defaultdict(Row)
    differences = listed()
    answers = next(iter(table.answers.values()))
    for question, answer in zip(table.questions, answers, strict=True):
        if not question.op.startswith(CORNER):
            op = subject_of(question.op)
            row = result[op]
            if isinstance(answer, str):
                if "PassManager" in answer:  # findings/triton_late_refusals.sh
                    row.failing.append(question.dtype)
            elif (op, question.dtype) in differences:
                row.listed.append(question.dtype)
            else:
                (row.equal if question.agreement == BITS else row.within).append(question.dtype)
    for row in result.values():
        row.equal = [dtype for dtype in row.equal if dtype not in row.within]
    return {op: row for op, row in result.items() if any(row.cells)}


def _grouped(ops: dict[str, Row], *, library: bool) -> Iterator[str]:
    """Yield the lines of a table, one for the ops with equal cells."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for op, row in ops.items():
        if op.startswith("libdevice.") is library:
            groups[row.cells].append(op.removeprefix("libdevice."))
    for cells, names in groups.items():
        shown = cells[:-1] if library else cells
        yield f"|{_joined(names)}|{'|'.join(shown)}|"


def _differences() -> Iterator[str]:
    for (op, dtype), difference in listed().items():
        name = op.removeprefix("libdevice.")
        yield (
            f"|`{name}` {_of_one_type(dtype)}|{difference.places}|{difference.distance}|"
            f"{difference.reason}|"
        )


def _number(dtype: str, bits: Bits) -> str:
    """Return the number of one element as text."""
    number = bits.view(NUMPY[dtype])[0]
    return f"{float(number):.9g}" if FORMATS[dtype].is_float else str(int(number))


def _first_unlike(dtype: str, one: Bits, other: Bits, steps: int) -> int | None:
    """Return the first place at which two answers are more steps apart, else None."""
    compared = comparison(dtype, one, other)
    places = compared.places[compared.steps > steps]
    return int(places[0]) if len(places) else None


def corners() -> list[Corner]:
    """Return all questions with guesses."""
    return [*early_corners(), *first(), *second(), *third()]


def wrong_guesses(table: Table) -> Iterator[str]:
    """Yield a row for each subject of a corner whose guess the device did not confirm."""
    of_first_run = next(iter(table.answers.values()))
    answers = {
        question.name + str(question.constexprs): answer
        for question, answer in zip(table.questions, of_first_run, strict=True)
    }
    subjects: set[str] = set()
    for corner in corners():
        question = corner.question
        subject = question.op.removeprefix(CORNER)
        for name, guess in corner.guesses.items():
            answer = answers[question.name + str(dict(question.constexprs))]
            assert not isinstance(answer, str), f"{subject}: {answer}"
            buffer = question.arguments[name]
            assert isinstance(buffer, Buffer)
            steps = 0 if question.agreement == BITS else STEPS
            place = _first_unlike(buffer.dtype, guess, answer[name], steps)
            if place is not None and subject not in subjects:
                subjects.add(subject)
                one, other = (
                    _number(buffer.dtype, bits[place : place + 1]) for bits in (guess, answer[name])
                )
                yield f"|{subject}|{one}|{other}|"


def version_differences(table: Table) -> Iterator[str]:
    """Yield a row for each op whose answers differ between the first run and another one."""
    earlier, *others = table.answers.values()
    for run, answers in zip(list(table.answers)[1:], others, strict=True):
        rows: dict[str, tuple[list[str], str]] = {}
        for question, before, after in zip(table.questions, earlier, answers, strict=True):
            change = _change(question, before, after)
            if change:
                op = subject_of(question.op).removeprefix("libdevice.").removeprefix(CORNER)
                rows.setdefault(op, ([], change))[0].append(question.dtype)
        for op, (dtypes, change) in rows.items():
            yield f"|{run.triton}|`{op}`|{_short(dtypes)}|{change}|"


def _alike(table: Table) -> str:
    """Return the runs whose answers equal the first one's."""
    differing = {line.split("|")[1] for line in version_differences(table)}
    alike = [run.name for run in list(table.answers)[1:] if run.triton not in differing]
    return f"nothing of {' and '.join(alike)}" if alike else "something of each"


def _change(question: Question, before: Answer, after: Answer) -> str:
    """Return two cells, the first unlike numbers of two answers; empty if they are alike."""
    if isinstance(before, str) or isinstance(after, str):
        cells = ["refused" if isinstance(answer, str) else "answered" for answer in (before, after)]
        asked = "not asked" not in (before, after)
        return "|".join(cells) if asked and cells[0] != cells[1] else ""
    steps = STEPS if question.agreement == LAST_BITS else 0
    for name, bits in before.items():
        buffer = question.arguments[name]
        assert isinstance(buffer, Buffer)
        place = _first_unlike(buffer.dtype, bits, after[name], steps)
        if place is not None:
            at = slice(place, place + 1)
            return "|".join(_number(buffer.dtype, answer[name][at]) for answer in (before, after))
    return ""


def _headed(first: str, others: str, lines: Iterable[str]) -> list[str]:
    titles = [first, *others.split(", ")]
    return ["", f"| {' | '.join(titles)} |", "|---|" + "---|" * (len(titles) - 1), *lines, ""]


def document() -> str:
    """Return the text of the document."""
    table = read(ANSWERS)
    ops = rows(table)
    run, *others = table.answers
    runs = f"{run.name}, torch {run.torch}"
    asked_afresh = len(corners())
    asked = {question.op for question in table.questions} | {*ops}
    defined = dict.fromkeys(case.op for case in ALL_CASES if case.op not in asked)
    columns = f"equal bits, within {STEPS} steps, listed below, Triton's compiler fails"
    values = [f"{count(table, library=library):,}" for library in (False, True)]
    parts = [
        "# What the evaluator covers",
        "",
        "Written by `python -m tests.kernels.coverage`; a test compares it with its sources.",
        "",
        (Path(__file__).parent / "coverage_notes.md").read_text().strip(),
        "",
        "## Asked of a device",
        "",
        f"{runs}: {values[0]} values of the language, {values[1]} of libdevice, special and random "
        "operands of each type, in `tests/evaluate/device_answers.npz` with the answers; "
        "`tests/gpu/device_answers.py` asks. A step is the distance of neighboring numbers. The "
        "language refuses other types. NaN of other bits count as equal.",
        *_headed("op", columns, _grouped(ops, library=False)),
        "Compared with a definition in NumPy alone (`tests/kernels/catalog.py`): "
        + ", ".join(f"`{op}`" for op in defined if op not in ops)
        + ".",
        "",
        "## libdevice",
        "",
        "`_r*` stands for the four directions of rounding.",
        *_headed("function", columns.rpartition(",")[0], _grouped(ops, library=True)),
        "## Where values differ",
        *_headed("op", "places, steps, reason", _differences()),
        "## Guessed first",
        "",
        f"{asked_afresh} questions about little-used corners (`corners.py` and `fresh.py` in "
        "`tests/kernels`), each with numbers guessed before the device was asked. Of the last "
        f"{len(list(third()))} the evaluator missed none before it knew the answers. Wrong "
        "guesses, by their first number:",
        *_headed("question", "guess, device", wrong_guesses(table)),
        "## Other versions",
        "",
        f"The same questions of {'; '.join(other.name for other in others)}: what differs, by its "
        f"first number; {_alike(table)}. The evaluator follows Triton {run.triton} and what the IR "
        "says.",
        *_headed("Triton", f"op, types, {run.triton}, there", version_differences(table)),
    ]
    return "\n".join(parts).rstrip() + "\n"


def main() -> None:
    DOCUMENT.write_text(document())
    print(f"{DOCUMENT.name}: {len(document().split()):,} words")


if __name__ == "__main__":
    main()

"""Tables of what the evaluator is tested on, and the document made of them.

python -m tests.kernels.coverage        # rewrites docs/internals/coverage.md, which a test compares
"""

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.compiler.errors import CompilationError
from triton.runtime import driver

from kvtrace.backends.triton.free_driver import DeviceFreeDriver
from kvtrace.schema.errors import KvtraceError
from tests.kernels.case import DTYPES, NUMPY, Case
from tests.kernels.catalog import ALL_CASES, CASES, LEFT_OUT
from tests.kernels.coverage_table import (
    LEGEND,
    MEANING,
    MISSING,
    NONE,
    Cells,
    cells_of,
    markdown_table,
)
from tests.kernels.launching import launch, to_tensor

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


def cells_of_cases() -> dict[tuple[str, str], str]:
    """Return the marks by op and type, from the catalog."""
    return cells_of((case.op, case.dtype, bool(case.undefined), True) for case in ALL_CASES)


def probed(cells: Cells) -> dict[tuple[str, str], str]:
    """Return the cells of ops that no case has, by trying to evaluate the ops."""
    examples: dict[str, Case] = {}
    for case in CASES:
        examples.setdefault(case.op, case)
    found = dict(cells)
    for op, case in examples.items():
        if op.startswith("libdevice."):
            continue
        for dtype in DTYPES:
            if (op, dtype) not in found:
                found[(op, dtype)] = _tried(case, dtype)
    return found


def _tried(case: Case, dtype: str) -> str:
    inputs = {
        name: np.ones(value.shape, NUMPY[dtype])
        if isinstance(value, np.ndarray) and value.dtype == NUMPY[case.dtype]
        else value
        for name, value in case.inputs.items()
    }
    if all(inputs[name] is case.inputs[name] for name in inputs):
        return NONE
    other = replace(case, inputs=inputs)
    arguments = {
        name: to_tensor(value) if isinstance(value, np.ndarray) else value
        for name, value in other.inputs.items()
    }
    try:
        launch(other.kernel, other.grid, arguments, other.constexprs)
    except KvtraceError:
        return MISSING
    except (CompilationError, RuntimeError):
        return NONE
    return MEANING


def document() -> str:
    assert not LEFT_OUT, "write it with a Triton that compiles all cases, as the locked one"
    cells = probed(cells_of_cases())
    legend = [f"- {mark} {text}" for mark, text in LEGEND.items()]
    names = [f"| `tl.{name}` | {where} |" for name, where in sorted(ELSEWHERE.items())]
    text = (Path(__file__).parent / "coverage_notes.md").read_text()
    parts = [
        "# What the evaluator covers",
        "",
        "Written by `python -m tests.kernels.coverage`; a test compares it with the catalog.",
        "",
        text.strip(),
        "",
        "## The language, by type of the operands",
        "",
        *legend,
        "",
        *markdown_table(cells, library=False),
        "",
        "Functions of `triton.language` without a separate row:",
        "",
        "| function | where it is tested |",
        "|---|---|",
        *names,
        "",
        "## libdevice, by type of the first operand",
        "",
        *markdown_table(cells, library=True),
        "",
    ]
    return "\n".join(parts)


def main() -> None:
    driver._active = DeviceFreeDriver("cuda:90")
    with np.errstate(all="ignore"):
        DOCUMENT.write_text(document())
    print(f"{DOCUMENT.name}: {len(CASES)} cases")


if __name__ == "__main__":
    main()

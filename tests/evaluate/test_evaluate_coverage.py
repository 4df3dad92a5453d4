"""Every public function of the language has a case, or a reason why it has none."""

import inspect
from typing import Any

import triton
import triton.language as tl

from tests.kernels.catalog import ALL_CASES, CASES

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


def test_every_public_function_of_the_language_has_a_case_or_a_reason():
    assert forgotten() == []


def test_every_function_of_libdevice_has_a_case():
    from triton.language.extra.cuda import libdevice

    offered = {
        name
        for name, member in vars(libdevice).items()
        if getattr(member, "__triton_builtin__", False) and not name.startswith("_")
    }
    cased = {case.op.removeprefix("libdevice.") for case in CASES if "libdevice" in case.op}
    # Its table asks for three operands, and its symbol takes two.
    assert offered - cased == {"mul_ru"}

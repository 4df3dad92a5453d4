"""Exceptions by number: each that NVIDIA's header lists has words, a meaning and advice."""

import pytest

from kvtrace.addons.fault.dump.exceptions import EXCEPTIONS, TRAP, Subject, kind_of
from kvtrace.cli import main
from tests.addons.fault.recorded import DUMPS, with_exception

#: `CUDBGException_t` of CUDA 13.1's `cudadebugger.h`, without `CUDBG_EXCEPTION_`; names of numbers
#: that it reserves are those of CUDA 13.0. What the program says of each.
DOCUMENTED = {
    1: ("LANE_ILLEGAL_ADDRESS", "illegal address"),
    2: ("LANE_USER_STACK_OVERFLOW", "stack overflow"),
    3: ("DEVICE_HARDWARE_STACK_OVERFLOW", "stack overflow"),
    4: ("WARP_ILLEGAL_INSTRUCTION", "illegal instruction"),
    5: ("WARP_OUT_OF_RANGE_ADDRESS", "address out of range"),
    6: ("WARP_MISALIGNED_ADDRESS", "misaligned address"),
    7: ("WARP_INVALID_ADDRESS_SPACE", "address of the wrong memory"),
    8: ("WARP_INVALID_PC", "invalid program counter"),
    9: ("WARP_HARDWARE_STACK_OVERFLOW", "stack overflow"),
    10: ("DEVICE_ILLEGAL_ADDRESS", "illegal address"),
    11: ("LANE_MISALIGNED_ADDRESS", "misaligned address"),
    12: ("WARP_ASSERT", "failed assertion"),
    13: ("LANE_SYSCALL_ERROR", "failed system call"),
    14: ("WARP_ILLEGAL_ADDRESS", "illegal address"),
    15: ("LANE_NONMIGRATABLE_ATOMSYS", "atomic on memory of the host that cannot move"),
    16: ("LANE_INVALID_ATOMSYS", "atomic on memory of the host that has none"),
    17: ("CLUSTER_OUT_OF_RANGE_ADDRESS", "address out of range of the cluster"),
    18: ("CLUSTER_BLOCK_NOT_PRESENT", "block of the cluster that has ended"),
    19: ("WARP_STACK_CANARY", "overwritten stack"),
    20: ("WARP_TMEM_ACCESS_CHECK", "illegal access of tensor memory"),
    21: ("WARP_TMEM_LEAK", "tensor memory that was not freed"),
    22: ("WARP_CALL_REQUIRES_NEWER_DRIVER", "call that needs a newer driver"),
    23: ("WARP_MISALIGNED_PC", "invalid program counter"),
    24: ("WARP_PC_OVERFLOW", "invalid program counter"),
    25: ("WARP_MISALIGNED_REG", "invalid register"),
    26: ("WARP_ILLEGAL_INSTR_ENCODING", "illegal instruction"),
    27: ("WARP_ILLEGAL_INSTR_PARAM", "illegal instruction"),
    28: ("WARP_OUT_OF_RANGE_REGISTER", "invalid register"),
    29: ("WARP_INVALID_CONST_ADDR_LDC", "illegal address of constants"),
    30: ("WARP_MMU_FAULT", "illegal address"),
    31: ("WARP_ARRIVE", "too many arrivals at a barrier"),
    32: ("CLUSTER_POISON", "memory error that cannot be corrected"),
    33: ("WARP_API_STACK_ERROR", "stack overflow"),
    34: ("WARP_BLOCK_NOT_PRESENT", "block of the cluster that has ended"),
    35: ("WARP_USER_STACK_OVERFLOW", "stack overflow"),
    36: ("TMA_SYSCALL", "failed copy by a tensor descriptor"),
}


def test_all_documented_exceptions_are_known():
    assert EXCEPTIONS.keys() == DOCUMENTED.keys()


@pytest.mark.parametrize("number", DOCUMENTED)
def test_exception_is_printed_with_its_meaning_and_advice(number, tmp_path, capsys):
    file = tmp_path / "core"
    file.write_bytes(with_exception((DUMPS / "shifted.nvcudmp").read_bytes(), number))
    assert main(["fault", str(file)]) == 1
    text = capsys.readouterr().out
    name, words = DOCUMENTED[number]
    assert f": {words}, in kernel shifted" in text, name
    assert f"  why       {EXCEPTIONS[number].means}\n" in text
    assert f"  try       {EXCEPTIONS[number].advice}\n" in text


@pytest.mark.parametrize("number", [37, 0xFFFFFFFF])
def test_exception_of_a_newer_driver_is_named_by_its_number(number, tmp_path, capsys):
    file = tmp_path / "core"
    file.write_bytes(with_exception((DUMPS / "shifted.nvcudmp").read_bytes(), number))
    assert main(["fault", str(file)]) == 1
    text = capsys.readouterr().out
    assert f": exception {number}, in kernel shifted" in text
    assert "newer than kvtrace" in text


def test_stack_overflow_says_how_to_get_more_stack():
    for number, (name, _) in DOCUMENTED.items():
        if "USER_STACK" in name or "API_STACK" in name:
            assert "cudaLimitStackSize" in kind_of(number).advice
        elif "HARDWARE_STACK" in name:
            assert "noinline" in kind_of(number).advice


def test_verdicts_explain_only_exceptions_of_memory_and_assertions():
    """A stack overflow at a load is not explained by what the load's index held."""
    by_subject = {
        subject: {n for n, kind in EXCEPTIONS.items() if kind.subject is subject}
        for subject in Subject
    }
    assert by_subject[Subject.ASSERTION] == {12}
    assert by_subject[Subject.ALIGNMENT] == {6, 11}
    assert by_subject[Subject.ADDRESS] == {1, 5, 7, 10, 14, 15, 16, 30}
    assert TRAP.subject is Subject.OTHER

"""Rows of `findings` as passes write them, for tests of what is made of them."""

from kvtrace.schema.content import stack_id
from tests.converters.written_trace import Kernel, Launches

LOAD = [("/home/user/kernels.py", 12, 14, "scale")]
STORE = [("/home/user/kernels.py", 13, 5, "scale")]
INLINED = [("/lib/helper.py", 3, 5, "inner"), ("/home/user/kernels.py", 13, 5, "scale")]
KERNEL = Kernel(calls=(Launches(number=4), Launches(number=2, shape=(999,), scalar="999")))

VIOLATION = {
    "finding_id": "v0", "call_id": 0, "op_index": 7, "rule": "out-of-bounds",
    "verdict": "violation", "severity": "error", "access": "load", "stack_id": stack_id(LOAD),
    "program_x": 7, "program_y": 0, "program_z": 0, "iteration": None, "lane": [104],
    "arg": "x_ptr", "address_offset": 4000, "past_end_bytes": 4, "lanes": 24,
    "expression": "x_ptr + 4 * (128 * program_id(0) + lane)", "method": "evaluated",
    "message": "load ends 4 bytes past the end of x_ptr",
}  # fmt: skip
PROVEN = {
    "finding_id": "p0", "call_id": 0, "op_index": 9, "rule": "out-of-bounds",
    "verdict": "proven", "severity": "note", "access": "store", "arg": "y_ptr",
    "stack_id": stack_id(INLINED), "message": "store stays inside its tensor for this call",
}  # fmt: skip
UNKNOWN = {
    "finding_id": "u0", "call_id": 1, "op_index": 9, "rule": "out-of-bounds",
    "verdict": "unknown", "severity": "note", "access": "store", "arg": "y_ptr",
    "stack_id": stack_id(INLINED), "reason": "the index is data that was not recorded",
}  # fmt: skip
RACE = {
    **VIOLATION, "finding_id": "r0", "rule": "race", "other_program_x": 6, "other_program_y": 0,
    "other_program_z": 0, "other_op_index": 9, "other_stack_id": stack_id(STORE),
    "nearest": "y_ptr, 16 bytes further on", "message": "two programs touch the same bytes",
}  # fmt: skip

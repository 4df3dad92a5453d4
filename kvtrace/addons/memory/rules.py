"""The rules of this add-on: memory that nobody wrote, and writes that nobody declared."""

from typing import Final

READ: Final = "uninitialized-read"
RESULT: Final = "unwritten-result"
DECLARED: Final = "undeclared-write"

RULES: Final = {
    READ: {
        "severity": "warning",
        "summary": "memory is read that nobody wrote since it was allocated",
        "hint": "let the kernel that makes it write all elements, or mask the read by the same "
        "count; kvtrace confirm --trace says whether what the program prints changes",
        "page": "docs/memory.md",
    },
    RESULT: {
        "severity": "note",
        "summary": "a kernel wrote a result in part, and nobody wrote the other elements",
        "hint": "make the buffer as large as what is written, or make it with torch.zeros",
        "page": "docs/memory.md",
    },
    DECLARED: {
        "severity": "warning",
        "summary": "a kernel changes memory that its autotuner or the operator around it does not "
        "declare as changed",
        "hint": "name the argument in the operator's schema (mutates_args), or in restore_value or "
        "reset_to_zero of triton.autotune",
        "page": "docs/memory.md",
    },
}

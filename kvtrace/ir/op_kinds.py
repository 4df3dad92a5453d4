"""Words of the table of ops: kinds, ways of reading integers, operators, kinds of access."""

from enum import Enum
from typing import Literal


class Kind(Enum):
    """The kind of an op; each value completes the sentence "the op …"."""

    ELEMENTWISE = "computes each element from the operands' elements at the same position"
    GIVEN = "has results without operands: constants, ranges, program ids"
    SPREAD = "copies elements along axes of size 1 or new axes, or drops such axes"
    PICKED = "selects elements of an operand by index"
    REARRANGED = "moves the elements of operands to other positions"
    REDUCTION = "combines the elements along an axis into one"
    SCAN = "computes each element from the elements before it along an axis"
    COUNT = "counts elements"
    PRODUCT = "is a matrix product"
    ADDRESS = "computes pointers or descriptors"
    MEMORY = "reads or writes memory, or both"
    BRANCH = "runs one of its regions"
    LOOP = "runs its regions repeatedly"
    PARTITIONS = "runs its regions at the same time, each by other warps"
    END = "ends a block, and passes values on"
    JUMP = "ends a block, and continues at another block"
    CALL = "calls a function"
    FUNCTION = "is a function"
    SHARED = "views, accesses or waits for shared memory"
    REMARK = "computes nothing: barriers, assumptions"
    REPORT = "asserts or prints"
    MODULE = "contains functions"


AccessKind = Literal["load", "store", "atomic"]
"""The effect of a memory op; an atomic op reads and writes without another access in between."""

Reading = Literal["", "modular", "signed", "unsigned", "mixing"]
"""The way in which an op interprets integers; it decides if the result depends on their width.

`modular`: the result is the same modulo 2^n whether or not an operand has wrapped around. `mixing`:
unsigned, and the result depends on single bits of a number, as in hashes.
"""

Operator = Literal[
    "", "+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "min", "max", "where", "compare",
    "mulhi", "fma", "exp", "negate", "cast", "bitcast", "dot", "expand_dims", "trans", "reshape",
    "join", "split", "program_id", "num_programs", "arange", "abs", "cat",
    "int_to_ptr", "ptr_to_int", "constant", "undefined", "inline_asm", "extern", "map",
]  # fmt: skip
"""The operation that an op computes, for any element type, as written in Python or Triton.

`mulhi` is the upper half of a product; `cast` keeps the number as far as the new type can represent
it (truncation to an integer is no cast), `bitcast` keeps the bits. Empty for other operations.
"""

"""Rules that kernels can violate on a Neuron device, and findings: one per rule, op and argument.

A finding does not end the run: the kernel continues if possible.
"""

from typing import Final, NamedTuple

from msgspec import Struct

from kvtrace.verdicts.rules.choice import AddedRules

OUT_OF_BOUNDS: Final = "out-of-bounds"
UNINITIALIZED: Final = "uninitialized-read"
PARTITION_LIMIT: Final = "partition-limit"
MATMUL_LIMIT: Final = "matmul-limit"
PSUM_BANK: Final = "psum-bank"
PSUM_CAPACITY: Final = "psum-capacity"
SBUF_CAPACITY: Final = "sbuf-capacity"
ENGINE_DTYPE: Final = "engine-dtype"
MEMORY_SPACE: Final = "memory-space"
UNWRITTEN_RESULT: Final = "unwritten-result"


class Rule(NamedTuple):
    """A rule's severity, a description of its violation, and a hint on how to fix it."""

    severity: str
    summary: str
    hint: str


RULES: Final = {
    OUT_OF_BOUNDS: Rule(
        "error",
        "a lane reads or writes outside its tensor",
        "pass mask= so that lanes past the end are off",
    ),
    UNINITIALIZED: Rule(
        "error",
        "memory is read that was never written",
        "write it first, or allocate it with nl.zeros",
    ),
    PARTITION_LIMIT: Rule(
        "error",
        "a tile spans more than the 128 partitions",
        "split the first dimension into tiles of nl.tile_size.pmax",
    ),
    MATMUL_LIMIT: Rule(
        "error",
        "an operand of a matrix multiplication is larger than the engine supports",
        "split it: at most 128 partitions, 128 stationary and 512 moving columns",
    ),
    PSUM_BANK: Rule(
        "error",
        "the result of a matrix multiplication does not fit a bank of PSUM",
        "split the moving tile: a bank holds 512 float32 per partition",
    ),
    PSUM_CAPACITY: Rule(
        "error",
        "buffers that are in use at once need more than the banks of PSUM",
        "copy results to SBUF earlier, or accumulate fewer at once",
    ),
    SBUF_CAPACITY: Rule(
        "error",
        "buffers that are in use at once need more than SBUF has",
        "load smaller tiles, or load them where they are used",
    ),
    ENGINE_DTYPE: Rule(
        "error",
        "an engine gets an element type that it does not support",
        "convert it first, as with nl.copy(tile, dtype=…)",
    ),
    MEMORY_SPACE: Rule(
        "error",
        "an operand is in a memory that the engine cannot access",
        "load it, or copy it to SBUF first",
    ),
    UNWRITTEN_RESULT: Rule(
        "warning",
        "a kernel returns a tensor with elements that it never wrote",
        "write every element of the tensor, or allocate a smaller one",
    ),
}

ADDED: Final = AddedRules(
    {name: rule._asdict() | {"page": "docs/nki.md"} for name, rule in RULES.items()}
)


class Finding(Struct):
    """A violation of a rule by an op. `times` and `lanes` are sums over the run.

    Other fields are those of the first violation. `site` is the op's index among the recorder's
    sites, `lane` the index in the op's tile, and `program` the linear program id; `address_offset`
    and `past_end_bytes` are in bytes.
    """

    rule: str
    site: int
    message: str
    access: str = ""
    program: int = 0
    iteration: int | None = None
    argument: str = ""
    lane: tuple[int, ...] = ()
    address_offset: int | None = None
    past_end_bytes: int | None = None
    lanes: int = 0
    times: int = 1

    @property
    def severity(self) -> str:
        """The rule's severity: error or warning."""
        return RULES[self.rule].severity

"""What is wrong with what a kernel does on the machine: rules, and one record per place.

A finding does not end the run: what was found is kept, and the kernel goes on where it can.
"""

from dataclasses import dataclass, field
from typing import Final

OUT_OF_BOUNDS: Final = "out-of-bounds"
RACE: Final = "race"
UNDEFINED_LANES: Final = "undefined-lanes"
UNINITIALISED: Final = "uninitialised-read"
PARTITION_LIMIT: Final = "partition-limit"
MATMUL_LIMIT: Final = "matmul-limit"
PSUM_BANK: Final = "psum-bank"
PSUM_CAPACITY: Final = "psum-capacity"
SBUF_CAPACITY: Final = "sbuf-capacity"
ENGINE_DTYPE: Final = "engine-dtype"
MEMORY_SPACE: Final = "memory-space"
LOOP_DEPENDENCE: Final = "loop-dependence"

#: Rule → severity, and what it finds.
RULES: Final = {
    OUT_OF_BOUNDS: ("error", "a lane reads or writes outside its tensor"),
    RACE: ("error", "two programs touch the same elements in device memory, one of them writes"),
    UNDEFINED_LANES: ("warning", "lanes that a mask left without a value are stored"),
    UNINITIALISED: ("error", "memory is read that nothing was written to"),
    PARTITION_LIMIT: ("error", "a tile spans more than the 128 partitions"),
    MATMUL_LIMIT: ("error", "an operand of a matrix multiplication is larger than the engine's"),
    PSUM_BANK: ("error", "the result of a matrix multiplication does not fit a bank of PSUM"),
    PSUM_CAPACITY: ("error", "buffers that are in use at once need more than the banks of PSUM"),
    SBUF_CAPACITY: ("error", "buffers that are in use at once need more than SBUF has"),
    ENGINE_DTYPE: ("error", "an engine is given an element type that it does not take"),
    MEMORY_SPACE: ("error", "an operand lies in a memory that the engine does not reach"),
    LOOP_DEPENDENCE: ("error", "an iteration of affine_range uses what another one wrote"),
}


@dataclass
class Finding:
    """One rule broken at one place. Times and lanes add up over the run; the rest is the first's.

    `site` is the op's place among the recorder's sites. `lane` is the index in the op's tile,
    `program` the linear program id, `address_offset` and `past_end_bytes` are in bytes.
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
    other_program: int | None = None
    other_site: int | None = None
    lanes: int = 0
    times: int = field(default=1)

    @property
    def severity(self) -> str:
        """Error or warning."""
        return RULES[self.rule][0]

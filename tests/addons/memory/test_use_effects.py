"""What uses of a storage read that none before wrote."""

from kvtrace.addons.memory.byte_ranges import MOST_RANGES, NOTHING, ByteRanges
from kvtrace.addons.memory.states import Effect
from kvtrace.addons.memory.tensor_bytes import tensor_bytes
from kvtrace.addons.memory.use_effects import unwritten_reads

HALF, ALL = ByteRanges.of(0, 32), ByteRanges.of(0, 64)
READS = Effect(ALL, ALL)
WRITES_HALF = Effect(NOTHING, NOTHING, HALF, HALF)
PERHAPS = Effect(NOTHING, ALL, NOTHING, ALL, "data decides")


def test_reads_count_bytes_that_no_earlier_use_wrote():
    assert unwritten_reads([None, READS, WRITES_HALF, READS]) == [0, 64, 0, 32]
    assert unwritten_reads([Effect(ALL, ALL, ALL, ALL), READS]) == [64, 0]


def test_what_may_have_been_written_counts_as_written_and_what_may_be_read_as_not_read():
    assert unwritten_reads([PERHAPS, READS]) == [0, 0]


def test_bytes_in_too_many_ranges_count_as_written():
    count = MOST_RANGES // 2 + 1
    parts = [tensor_bytes(begin, (count,), (2,), 1) for begin in (0, 3 * count)]
    effects = [Effect(NOTHING, NOTHING, part, part) for part in parts]
    whole = ByteRanges.of(0, 6 * count)
    assert unwritten_reads([effects[0], Effect(whole, whole)]) == [0, 5 * count]
    assert unwritten_reads([*effects, Effect(whole, whole)]) == [0, 0, 0]

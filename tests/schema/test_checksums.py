"""Each part says what its bytes hash to; a byte that differs is found wherever it is."""

import hashlib
import re

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.schema.checksums import verify_part
from kvtrace.schema.compaction import compact
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import part_path
from kvtrace.schema.opened_parts import open_part
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.schema.written_runs import add_calls, flip, launches


@pytest.fixture
def out(tmp_path):
    writer = RunWriter(tmp_path, new_run_id(), segment_rows=1000)
    add_calls(writer)
    for first in range(0, 2000, 1000):
        writer.append("launches", launches(first, 1000))
    writer.seal({"ending": "exit"})
    return tmp_path


@pytest.fixture
def part(out):
    return part_path(out, "launches", open_trace(out).run_ids[0], 0)


def pages(path):
    column = pq.read_metadata(path).row_group(0).column(0)
    return column.data_page_offset, column.data_page_offset + column.total_compressed_size


def test_the_checksum_is_the_hash_of_the_file_with_zeros_in_its_place(part):
    content = part.read_bytes()
    said = pq.read_metadata(part).metadata[b"kvtrace.sha256"]

    (place,) = (match.start() for match in re.finditer(said, content))
    zeroed = content[:place] + b"0" * 64 + content[place + 64 :]

    assert said == hashlib.sha256(zeroed).hexdigest().encode()
    verify_part(part)


def test_other_parquet_readers_read_a_part_with_a_checksum(part):
    assert pq.read_table(part, page_checksum_verification=True).num_rows == 1000
    assert duckdb.sql(f"SELECT sum(seq) FROM '{part}'").fetchall() == [(499_500,)]


def test_reading_a_part_finds_a_flipped_bit_in_a_page(out, part):
    begin, end = pages(part)
    flip(part, (begin + end) // 2)

    with pytest.raises(DamagedFile, match=r"part-00000\.parquet is damaged \(.*CRC"):
        open_trace(out).table("launches")


@pytest.mark.parametrize("back", [1, 8, 9, 60, 200, 400, 800, 1600])
def test_validate_reports_a_flipped_bit_in_the_footer_once(out, part, back):
    flip(part, part.stat().st_size - back)

    problems = [problem for problem in validate(out) if problem.where == str(part)]

    assert len(problems) == 1
    assert problems[0].unreadable


def test_part_rewritten_by_another_writer_is_valid_without_checksum(out, part):
    pq.write_table(pq.read_table(part, partitioning=None), part)

    assert b"kvtrace.sha256" not in pq.read_metadata(part).metadata
    assert validate(out) == []


def test_a_damaged_part_is_not_compacted(out, part):
    """The footer's flipped bit would be gone afterwards, and a wrong value kept for right."""
    flip(part, pq.read_metadata(part).row_group(0).column(0).dictionary_page_offset or 5)
    bad = part.read_bytes()

    done = compact(out)

    assert [merged.table for merged in done.merged] == []
    assert any("differ from its checksum" in text for text in done.damaged)
    assert part.read_bytes() == bad


def test_file_that_is_not_parquet_has_no_checksum(tmp_path):
    for number, content in enumerate([b"", b"PAR1", b"\xff" * 4 + b"PAR1", b"x" * 100]):
        path = tmp_path / f"{number}.parquet"
        path.write_bytes(content)

        verify_part(path)


def test_small_file_that_claims_a_huge_content_is_refused(tmp_path):
    path = tmp_path / "part-00000.parquet"
    for rows, refused in ((10_000, False), (2_000_000, True)):
        table = pa.table({"a": pa.repeat(pa.scalar(7, pa.int64()), rows)})
        pq.write_table(pa.concat_tables([table] * 10), path)
        assert path.stat().st_size < 200_000
        if refused:
            with pytest.raises(DamagedFile, match="claim to expand to 160,000,000"):
                open_part(path)
        else:
            open_part(path).close()

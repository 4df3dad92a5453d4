"""Small files that decode to very much: one row many times, one text in each of many rows."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.opened_parts import open_part
from kvtrace.schema.trace import open_trace
from tests.cli.reading_commands import READING, asked, part_of
from tests.cli.trace_mutations import repeat_rows
from tests.support.tiers import some

#: Run commands one after the other; print how each ended, and the most memory of the process in
#: kB. (`ru_maxrss` begins with what its parent had.)
PROGRAM = """
import sys, io, contextlib, json, pathlib
from kvtrace.cli import main
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(words)
    print(json.dumps([words[0], code, said.getvalue()[-400:]]))
facts = pathlib.Path("/proc/self/status").read_text().split()
print(json.dumps(["most", int(facts[facts.index("VmHWM:") + 1]), ""]))
"""


@pytest.mark.costly("a large file; other bombs stay by day")
@pytest.mark.parametrize("table", some(["calls", "artifacts", "kernels", "stacks"], 4))
def test_file_of_one_row_repeated_many_times_is_refused_before_decoding(table, own_trace):
    part = part_of(own_trace, table)
    repeat_rows(part, 500_000)
    assert part.stat().st_size < 5 << 20

    with pytest.raises(DamagedFile, match=r"its .* bytes (claim to )?hold"):
        open_part(part)


def test_file_of_one_text_in_many_rows_is_refused(own_trace):
    part = part_of(own_trace, "artifacts")
    rows = pq.ParquetFile(part).read().slice(0, 1)
    rows = rows.take(pa.array(np.zeros(100_000, np.int64)))
    text = pa.DictionaryArray.from_arrays(np.zeros(100_000, np.int32), pa.array([bytes(20_000)]))
    pq.write_table(rows.set_column(rows.column_names.index("bytes"), "bytes", text), part)
    assert part.stat().st_size < 5 << 20

    with pytest.raises(DamagedFile, match="bytes hold more than"):
        open_part(part)


@pytest.mark.process
@pytest.mark.parametrize("table", ["calls", "artifacts"])
def test_commands_on_a_row_bomb_end_soon_and_in_little_memory(table, own_trace):
    repeat_rows(part_of(own_trace, table), 500_000)
    words = [
        asked(command, own_trace) for command in ("sanitize", "profile", "trace validate", "repro")
    ]

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(words)],
        capture_output=True, text=True, timeout=300, check=True, cwd=own_trace.parent,
    )  # fmt: skip

    ended = {
        name: (code, output) for name, code, output in map(json.loads, done.stdout.splitlines())
    }
    most, _ = ended.pop("most")
    assert most < 2 << 20  # kB
    assert set(ended) == {word[0] for word in words}
    assert all("failed on" not in output for _, output in ended.values())
    assert ended["trace"][0] == 2


@pytest.mark.parametrize("table", ["kernels", "calls"])
def test_second_row_with_the_same_key_is_left_out(table, own_trace, kvtrace):
    before = open_trace(own_trace).table(table).num_rows
    part = part_of(own_trace, table)
    rows = pq.ParquetFile(part).read()
    metadata = {k: v for k, v in rows.schema.metadata.items() if k != b"kvtrace.sha256"}
    pq.write_table(pa.concat_tables([rows] * 20).replace_schema_metadata(metadata), part)

    assert open_trace(own_trace).table(table).num_rows == before
    _, out, err = kvtrace("info", own_trace)
    assert "_id that an earlier row has; left out" in " ".join((out + err).split())


def test_large_recorded_rows_stay_readable(sound_trace):
    for command in ("info", "trace validate"):
        assert READING[command]
    for part in sound_trace.rglob("*.parquet"):
        open_part(part).close()

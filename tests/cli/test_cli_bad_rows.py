"""Rows and files that kvtrace did not write: one costs itself, is said, and the rest goes on."""

import os
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.schema.errors import TraceWriteError
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter, new_run_id
from kvtrace.text import printable
from tests.cli.reading_commands import READING, asked
from tests.schema.make_golden import write_golden
from tests.support.thorough import THOROUGH, usually
from tests.support.tiers import some

FIXTURES = Path(__file__).parents[1] / "fixtures"

BEGAN = 1_767_323_045_000_000_000
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def every_table(tmp_path_factory):
    """A trace with every table and column."""
    folder = tmp_path_factory.mktemp("golden")
    write_golden(folder)
    return folder / "trace"


def test_rows_that_end_before_they_begin_have_no_duration_and_are_reported(kvtrace, tmp_path):
    run_id = new_run_id()
    writer = RunWriter(tmp_path / "out", run_id)
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "k"}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
    enter = np.array([BEGAN, BEGAN + 10 * SECOND, -(2**63) + 1])
    exits = np.array([BEGAN + 5, BEGAN + 3 * SECOND, 2**63 - 1])
    columns = {"seq": np.arange(3), "call_id": np.zeros(3, np.int64)}
    writer.append("launches", columns | {"enter": enter, "exit": exits})
    writer.seal({"ending": "exit"})

    trace = open_trace(tmp_path / "out")
    rows = plain_rows(trace.table("launches"))
    spans = [None if row["exit"] is None else row["exit"] - row["enter"] for row in rows]
    assert spans == [5, 0, None]
    for command in (
        ["info"],
        ["profile"],
        ["convert", "chrome", "-o", "c.json"],
        ["convert", "perfetto"],
    ):
        code, out, err = kvtrace(command[0], *command[1:2], tmp_path / "out", *command[2:])
        assert code == 0, err
        assert "a clock was set back" in " ".join((out + err).split())


# -- rows -------------------------------------------------------------------------------------


def rewrite(trace, table, change):
    """Change the rows of a table, keys too, where they lie; as Python values."""
    part = next((trace / table).rglob("*.parquet"))
    rows = pq.ParquetFile(part).read()
    times = [field.name for field in rows.schema if pa.types.is_timestamp(field.type)]
    schema = pa.schema([pa.field(field.name, field.type) for field in rows.schema])
    listed = plain_rows(rows.drop_columns(times))
    change(listed)
    fresh = pa.Table.from_pylist(listed, pa.schema([f for f in schema if f.name not in times]))
    for name in times:
        column = rows.column(name).slice(0, len(listed))
        fresh = fresh.append_column(schema.field(name), column)
    metadata = {k: v for k, v in rows.schema.metadata.items() if k != b"kvtrace.sha256"}
    pq.write_table(fresh.replace_schema_metadata(metadata), part)


def assign(column, value, row=0):
    def change(rows):
        rows[row][column] = value

    return change


def change_entry(column, index, value):
    def change(rows):
        rows[0][column][index] = value

    return change


#: What was found by tests/cli/fuzz.py: a table, and what was done to its rows.
FOUND = {
    "a kernel that is not there": ("calls", assign("kernel_id", 999)),
    "a kernel that is not said": ("calls", assign("kernel_id", None)),
    "a launch of no call": ("launches", assign("call_id", None)),
    "a launch without a number": ("launches", assign("seq", None)),
    "an argument that says nothing": ("calls", change_entry("args", 0, None)),
    "a parameter that says nothing": ("kernels", change_entry("signature", 0, None)),
    "a stage that says nothing": ("kernels", change_entry("stages", 0, None)),
    "a frame that says nothing": ("stacks", change_entry("frames", 0, None)),
    "a mark without a number": ("marks", assign("mark_id", None)),
    "an artifact without a hash": ("artifacts", assign("sha256", None)),
    "an artifact without content": ("artifacts", assign("bytes", None)),
    "one kernel twice": ("kernels", assign("kernel_id", 1)),
    "a run without an id": ("runs", assign("run_id", None)),
}


#: Each with some of the commands: those of the next follow on.
PAIRS = list(product(READING, FOUND))[:: usually(23, thorough=1)]


@pytest.mark.sweep
@pytest.mark.parametrize(("command", "found"), PAIRS)
def test_a_bad_row_affects_no_other_row(found, command, own_trace, kvtrace):
    table, change = FOUND[found]
    rewrite(own_trace, table, change)

    code, _, err = kvtrace(*asked(command, own_trace))

    assert code in (0, 1, 2)
    assert "Traceback" not in err
    assert "failed on" not in err
    if code == 2 and command != "trace validate":
        assert err.count("\n") >= 1


@pytest.mark.sweep
@pytest.mark.parametrize("command", READING)
def test_commands_work_on_artifacts_without_hashes(command, own_trace, kvtrace):
    part = next((own_trace / "artifacts").rglob("*.parquet"))
    rows = pq.ParquetFile(part).read()
    pq.write_table(rows.drop_columns(["sha256"]), part)

    code, _, err = kvtrace(*asked(command, own_trace))

    assert code in (0, 1, 2)
    assert "failed on" not in err


def without_column(rows, place):
    return rows.remove_column(place)


def add_twin(rows, place):
    return rows.append_column(rows.schema.field(place), rows.column(place))


def fill_column_with_time(nanoseconds):
    def change(rows, place):
        field = rows.schema.field(place)
        times = pa.array([nanoseconds] * rows.num_rows, pa.int64()).cast(field.type)
        return rows.set_column(place, field.with_nullable(True), times)

    return change


TIMES = tuple(fill_column_with_time(number) for number in (0, -1, 2**63 - 1, None))
#: Every column of every table: gone, twice, and times as no clock shows them; each with one of the
#: commands, with `KVTRACE_TEST_THOROUGH` with all.
SWEPT = [
    (table.name, place, change)
    for table in TABLES.values()
    for place, column in enumerate(table.columns)
    for change in (without_column, add_twin, *(TIMES if pa.types.is_timestamp(column.type) else ()))
]
ASKED = (
    [(*swept, command) for swept in SWEPT for command in READING]
    if THOROUGH
    else [(*swept, list(READING)[at % len(READING)]) for at, swept in enumerate(SWEPT)][::61]
)


@pytest.mark.sweep
@pytest.mark.parametrize(("table", "place", "change", "command"), ASKED)
def test_damaged_columns_are_reported_as_damaged_files(
    table, place, change, command, every_table, kvtrace, tmp_path
):
    out = tmp_path / "trace"
    shutil.copytree(every_table, out)
    part = next((out / table).rglob("*.parquet"))
    rows = pq.ParquetFile(part).read()
    metadata = {k: v for k, v in rows.schema.metadata.items() if k != b"kvtrace.sha256"}
    pq.write_table(change(rows, place).replace_schema_metadata(metadata), part)

    code, _, err = kvtrace(*asked(command, out))

    assert code in (0, 1, 2)
    assert "failed on" not in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["replay", "sanitize"])
def test_calls_beside_a_bad_row_are_evaluated(command, own_trace, kvtrace):
    rewrite(own_trace, "calls", assign("kernel_id", 999))

    _, _, err = kvtrace(command, own_trace)

    assert "call 0 of ?: the trace has no record of the kernel with kernel_id 999" in err
    assert err.count("call ") == 1


@pytest.mark.parametrize(
    "text", some(["x y", "9" * 5_000, "[" * 300, "1\0", "-" * 10_000 + "1"], 3)
)
def test_a_scalar_that_is_no_number_affects_its_call_only(text, kvtrace, tmp_path):
    out = tmp_path / "trace"
    shutil.copytree(FIXTURES / "h200" / "device", out)

    def change(rows):
        args = rows[0]["args"]
        next(arg for arg in args if arg["kind"] == "scalar")["scalar"] = text

    rewrite(out, "calls", change)

    code, out_text, err = kvtrace("sanitize", out)

    assert code in (0, 1)
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    assert f"has the value {printable(shown)}, which is not a number" in " ".join(err.split())
    assert "unknown[out-of-bounds]" in out_text
    assert "proven" in err


@pytest.mark.skipif("fleet" not in READING, reason="the command is not here")
def test_numbers_of_executions_and_launches_may_be_arbitrary(own_trace, kvtrace):
    rewrite(own_trace, "gpu_kernels", assign("record", -(2**63)))
    rewrite(own_trace, "launches", assign("seq", 2**63 - 1))

    code, _, err = kvtrace(*asked("fleet", own_trace))

    assert code == 0, err


@pytest.mark.costly("every command; a page without an invalid layout stays by day")
def test_unreadable_layouts_affect_no_other_layout(kvtrace, tmp_path):
    out = tmp_path / "trace"
    shutil.copytree(FIXTURES / "h200" / "device", out)
    assert kvtrace("replay", out)[0] == 0
    for row, layout in enumerate(("no JSON", "[" * 100_000, "[1]")):
        rewrite(out, "accesses", assign("layout", layout, row))

    code, _, err = kvtrace("report", out, "-o", tmp_path / "r.html")

    assert code == 0, err


@pytest.mark.parametrize("source", [(), ("--source",)])
def test_a_script_of_a_kernel_with_any_name_is_python(source, kvtrace, tmp_path):
    out = tmp_path / "trace"
    shutil.copytree(FIXTURES / "h200" / "device", out)
    rewrite(out, "kernels", lambda rows: [row.update(name='k\0"""\\\x1b') for row in rows])

    code, _, err = kvtrace("repro", out, "--call", "0", "-o", tmp_path / "r.py", *source)

    assert code == 0, err
    compile((tmp_path / "r.py").read_bytes(), "r.py", "exec")


@pytest.mark.costly("every command; skipped rows stay by day")
@pytest.mark.parametrize("table", some(["launches", "kernels", "calls", "messages"], 4))
def test_commands_work_on_a_run_without_rows_of_a_table(table, own_trace, kvtrace):
    part = next((own_trace / table).rglob("*.parquet"))
    part.unlink()
    for command in ("info", "profile", "report"):
        code, _, err = kvtrace(*asked(command, own_trace))
        assert code == 0, err


def test_skipped_rows_are_reported(own_trace, kvtrace):
    rewrite(own_trace, "launches", assign("call_id", None, row=3))

    for command in ("profile", "info"):
        _, out, err = kvtrace(command, own_trace)
        assert "1 row without call_id, and left out" in " ".join((out + err).split())


@pytest.mark.costly("writes pages; skipped rows stay by day")
@pytest.mark.parametrize(
    "layout",
    some(["layout 0", "5", "[]", '{"base": "a"}', '{"base": 0, "lanes": [[1]]}', "[" * 9999], 3),
)
def test_a_page_is_written_without_an_invalid_layout(layout, kvtrace, tmp_path):
    out = tmp_path / "trace"
    shutil.copytree(FIXTURES / "h200" / "device", out)
    code, _, err = kvtrace("replay", out)
    assert code == 0, err
    rewrite(out, "accesses", assign("layout", layout))

    code, _, err = kvtrace("report", out, "--no-replay", "-o", tmp_path / "r.html")

    assert code == 0, err


@pytest.mark.sweep
def test_a_page_of_a_golden_trace_says_which_graphs_are_damaged(every_table, kvtrace, tmp_path):
    code, out_text, err = kvtrace("report", every_table, "--no-replay", "-o", tmp_path / "r.html")

    assert code == 0, err
    assert "the graph 0 in the trace is damaged" in out_text


# -- files and folders ------------------------------------------------------------------------


def pipe(part):
    os.mkfifo(part)


def device(part):
    part.symlink_to("/dev/zero")


def nowhere(part):
    part.symlink_to("nowhere")


def link_to_itself(part):
    part.symlink_to(part.name)


def folder(part):
    part.mkdir()


@pytest.mark.parametrize("made", [pipe, device, nowhere, link_to_itself, folder])
@pytest.mark.parametrize(
    "command", ["info", "profile", "sanitize", "sql", "trace redact", "trace validate"]
)
def test_only_regular_files_of_a_trace_are_read(made, command, own_trace, kvtrace):
    part = next((own_trace / "kernels").rglob("*.parquet"))
    part.unlink()
    made(part)

    code, out, err = kvtrace(*asked(command, own_trace))

    assert code == 2
    assert part.name in out + err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", ["launches-00000.arrows", "runs-00000.arrows"])
@pytest.mark.parametrize("command", ["info --all", "trace recover --force", "trace validate"])
def test_only_regular_files_of_a_journal_are_read(name, command, own_trace, kvtrace):
    journal = own_trace / ".journal" / "run=20260102-030405-000-00000001"
    journal.mkdir(parents=True)
    os.mkfifo(journal / name)

    code, out, err = kvtrace(*command.split(), own_trace)

    assert code in (0, 2)
    assert "is not a file" in " ".join((out + err).split())


@pytest.mark.sweep
@pytest.mark.parametrize("table", ["findings", "launches", ".journal"])
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("command", ["trace recover", "trace compact", "sanitize", "replay"])
def test_commands_write_nothing_through_a_symbolic_link(
    table, deep, command, own_trace, kvtrace, tmp_path
):
    kvtrace("sanitize", own_trace)
    (own_trace / ".journal" / "run=x").mkdir(parents=True, exist_ok=True)
    linked = next((own_trace / table).iterdir()) if deep else own_trace / table
    elsewhere = tmp_path / "elsewhere"
    shutil.move(linked, elsewhere)
    linked.symlink_to(elsewhere)
    before = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}

    code, _, err = kvtrace(*command.split(), own_trace)

    assert code == 2
    assert "is a link to a folder elsewhere" in err
    assert {p: p.read_bytes() for p in elsewhere.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("table", ["marks", ".journal"])
def test_recording_writes_nothing_through_a_symbolic_link(table, own_trace, tmp_path):
    (own_trace / ".journal").mkdir(exist_ok=True)
    shutil.move(own_trace / table, tmp_path / "elsewhere")
    (own_trace / table).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(TraceWriteError, match="is a link to a folder elsewhere"):
        RunWriter(own_trace, new_run_id())


@pytest.mark.sweep
@pytest.mark.parametrize("command", READING)
def test_control_characters_in_folder_names_are_escaped(command, own_trace, kvtrace):
    run = next((own_trace / "runs").iterdir())
    for table in ("runs", "kernels", "calls", "launches"):
        shutil.copytree(own_trace / table / run.name, own_trace / table / "run=\x1b[31mred\x9b1m")
    (own_trace / ".journal" / "run=\x1b[2J").mkdir(parents=True)

    code, out, err = kvtrace(*asked(command, own_trace))

    assert code in (0, 1, 2)
    assert [c for c in out + err if not c.isprintable() and c != "\n"] == []


@pytest.mark.parametrize("command", some(list(READING), 8))
def test_a_folder_name_with_control_characters_is_escaped(command, own_trace, kvtrace, tmp_path):
    hostile = tmp_path / "\x1b[31mred"
    own_trace.rename(hostile)
    _, out, err = kvtrace(*asked(command, hostile))
    assert "\x1b" not in out + err


# -- parts as nobody writes them --------------------------------------------------------------


def with_column_twice(rows):
    name = rows.column_names[1]
    return rows.append_column(name, rows.column(name))


def deep(rows):
    return rows.replace_schema_metadata(
        rows.schema.metadata | {b"kvtrace.settings": b"[" * 100_000 + b"]" * 100_000}
    )


@pytest.mark.parametrize("change", [with_column_twice, deep])
@pytest.mark.parametrize("command", ["info", "trace validate", "profile"])
def test_part_that_no_writer_can_make_is_reported_as_damaged(change, command, own_trace, kvtrace):
    part = next((own_trace / "kernels").rglob("*.parquet"))
    rows = pq.ParquetFile(part).read()
    metadata = {k: v for k, v in rows.schema.metadata.items() if k != b"kvtrace.sha256"}
    pq.write_table(change(rows.replace_schema_metadata(metadata)), part)

    code, out, err = kvtrace(*asked(command, own_trace))

    assert code == 2
    assert "failed on" not in out + err
    assert str(part) in "".join((out + err).split())


@pytest.mark.parametrize("time", [-(2**63) + 1, 2**63 - 1])
def test_messages_without_a_time_are_counted(time, own_trace, kvtrace):
    part = next((own_trace / "messages").rglob("*.parquet"))
    rows = pq.ParquetFile(part).read()
    kind = rows.schema.field("time").type
    times = pa.array([time] * rows.num_rows, pa.int64()).cast(kind)
    fields = [pa.field(field.name, field.type) for field in rows.schema]
    metadata = {k: v for k, v in rows.schema.metadata.items() if k != b"kvtrace.sha256"}
    place = rows.column_names.index("time")
    columns = [times if n == place else column for n, column in enumerate(rows.columns)]
    pq.write_table(pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata)), part)

    code, out, err = kvtrace("convert", "chrome", own_trace, "-o", "c.json")

    assert code == 0, err
    assert f"messages without a time ({rows.num_rows})" in " ".join(out.split())

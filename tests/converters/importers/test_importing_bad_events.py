"""One bad event in a file: it is counted in a sentence, and all others are imported."""

import json
import sqlite3
from contextlib import closing

import pytest

from kvtrace.converters.importers import tables
from kvtrace.converters.importers.importing import import_files
from kvtrace.converters.importers.registry import BadSource
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.support.foreign_traces import (
    write_nsys_sqlite,
    write_proton_chrome,
    write_rocpd,
    write_rocprofv3_csv,
    write_rocprofv3_json,
)

#: What is written, a text of it and what takes its place, and the sentence.
CHANGES = {
    "row without times": (write_rocprofv3_csv, "20125,25375", ",", "1 event without a begin"),
    "row cut off": (
        write_rocprofv3_csv, ",80000,92000,512,0,24,4,32,256,1,1,2000,1,1", "",
        "1 row with another number of fields than the header, left out (line 4 has 9, and the "
        "header 22)",
    ),
    "null as a dispatch": (
        write_rocprofv3_json,
        '"kernel_dispatch": [',
        '"kernel_dispatch": [null, ',
        "1 event without a begin",
    ),
    "process of more than 32 bits": (write_rocprofv3_json, '"pid": 100', '"pid": 1e18', ""),
    "range without a begin": (
        write_rocprofv3_json, '"start_timestamp": 1000,', "", "1 range without a begin",
    ),
    "text as a time": (
        write_proton_chrome,
        '"traceEvents": [',
        '"traceEvents": [{"ph": "X", "cat": "kernel", "ts": "soon"}, 7, ',
        "events that Proton does not write (4)",
    ),
}  # fmt: skip


def imported(path):
    (run,) = import_files([path], path.parent / "out")
    trace = open_trace(path.parent / "out")
    left_out = [f"{kind} ({count})" for kind, count in run.left_out.items()]
    return list(plain_rows(trace.table("gpu_kernels"))), " ".join([*run.lacks, *left_out])


@pytest.mark.parametrize("name", CHANGES)
def test_one_bad_event_is_counted_and_the_others_are_imported(name, tmp_path):
    write, text, other, sentence = CHANGES[name]
    path = write(tmp_path)
    content = path.read_text()
    assert text in content
    path.write_text(content.replace(text, other))
    rows, sentences = imported(path)
    lost = 1 if "row" in name else 0
    assert sum(row["kind"] is None for row in rows) == 3 - lost
    assert sentence in sentences


@pytest.mark.parametrize("begin", ["soon", None, 2**62 + 1])
def test_ranges_of_nsys_without_a_time_are_counted(begin, tmp_path):
    path = write_nsys_sqlite(tmp_path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE NVTX_EVENTS SET start = ? WHERE eventType = 34", (begin,))
        database.commit()
    rows, sentences = imported(path)
    assert len(rows) == 4
    assert "1 range without a begin" in sentences


def test_process_ids_of_databases_may_be_any_number(tmp_path):
    path = write_rocpd(tmp_path)
    with closing(sqlite3.connect(path)) as database:
        (table,) = next(
            database.execute("SELECT name FROM sqlite_master WHERE name LIKE '%info_process%'")
        )
        database.execute(f"UPDATE \"{table}\" SET pid = {2**62}, command = CAST(x'fffe' AS TEXT)")
        database.commit()
    assert len(imported(path)[0]) == 4
    assert open_trace(tmp_path / "out").runs[0].pid is None


def test_rows_of_databases_that_are_too_long_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_LONGEST", 10_000)  # else a file of 64 MB is needed
    path = write_nsys_sqlite(tmp_path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE StringIds SET value = hex(zeroblob(10000)) WHERE id = 1")
        database.commit()
    with pytest.raises(BadSource, match=r"export the report again \(string or blob too big\)"):
        import_files([path], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_table_of_kernels_without_any_time_is_refused(tmp_path):
    path = write_rocprofv3_csv(tmp_path)
    header, *_ = path.read_text().splitlines()
    path.write_text(f"{header}\n{json.dumps('KERNEL_DISPATCH')},,,,,,,k{',' * 14}\n")
    with pytest.raises(BadSource, match="neither kernels nor copies"):
        import_files([path], tmp_path / "out")


def test_a_sum_beyond_64_bits_is_unknown_and_its_kernel_is_imported(tmp_path):
    path = write_nsys_sqlite(tmp_path)
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET staticSharedMemory = {2**63 - 1}, "
            "dynamicSharedMemory = 9"
        )
        database.commit()
    rows, _ = imported(path)
    assert {row["shared_bytes"] for row in rows if row["kind"] is None} == {None}


def test_a_database_whose_schema_is_not_utf8_is_refused(tmp_path):
    path = write_rocpd(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREATE \xffABLE"))
    for tool in (None, "rocpd", "nsys"):
        with pytest.raises(BadSource) as refusal:
            import_files([path], tmp_path / "out", tool)
        assert "\n" not in str(refusal.value)


def test_uncommon_events_of_kineto_stay_in_the_order_of_the_file(tmp_path):
    """Events are added in batches, of which those that are unlike others are added alone."""
    common = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "dur": 3}
    changes = (
        {"args": [1]}, {"dur": "late"}, {"ts": 10**30}, {"name": {}}, {"pid": "1"}, {"pid": True},
        {"cat": "user_annotation"}, {"args": {"correlation": "7"}},
        {"args": {"External id": 2**70}},
        {"args": {"Call stack": "a;b"}}, {"ph": "s", "cat": "ac2g", "id": "0x1"}, {"ts": "5"},
    )  # fmt: skip
    events = [common | {"ts": 10 * number} for number in range(3 * len(changes))]
    for number, change in enumerate(changes):
        events[3 * number + 1] |= change
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"deviceProperties": [], "traceEvents": events}))
    import_files([path], tmp_path / "out")
    kept = plain_rows(open_trace(tmp_path / "out").table("tool_events"))
    assert [row["record"] for row in kept] == list(range(len(events) + 1))
    usual = [row for row in kept[:-1] if row["record"] % 3 != 1]
    assert all(
        (row["name"], row["begin"], row["end"], row["members"])
        == ("aten::mm", 10_000 * row["record"], 10_000 * row["record"] + 3_000, None)
        for row in usual
    )
    assert json.loads(kept[1]["members"]) == {"args": [1]}
    assert json.loads(kept[31]["members"]) == {"id": "0x1", "dur": 3}
    assert kept[34]["begin"] == 5_000

"""Rows of operators and their calls: roles by schema, names, graphs, and what is not known."""

import struct

import pyarrow as pa
import pytest

from kvtrace.addons.memory.recording.layouts import install
from kvtrace.addons.memory.recording.operator_rows import OperatorRows, unique_calls
from kvtrace.schema.columns import batch_of_columns
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES

torch = pytest.importorskip("torch")
native = pytest.importorskip("kvtrace.addons.memory.recording._operators")


class Rows:
    """A journal that keeps the rows that it is given."""

    def __init__(self):
        self.rows = {name: [] for name in ("operators", "operations", "allocations")}

    def add(self, table, row):
        self.rows[table].append(row)

    def append(self, table, columns):
        self.rows[table] += plain_rows(
            pa.Table.from_batches([batch_of_columns(TABLES[table], columns)])
        )

    def add_stack(self, frames):
        return len(frames)


@pytest.fixture
def listener():
    """A listener of torch's operators, which record; the callbacks are removed at the end."""
    native.forget()
    found = install(native, torch)
    messages = []
    rows = OperatorRows(native, found.dtypes, lambda *message: messages.append(message))
    rows.messages = messages
    native.record_calls(True)
    yield rows
    native.record_calls(False)
    found.remove(found.handle)
    native.forget()


def written(listener):
    journal = Rows()
    listener.round(journal)
    return journal.rows


def test_operations_in_a_captured_graph_have_its_number(listener):
    value = torch.zeros(2)
    value.neg_()
    native.set_graph(7)
    value.neg_()
    native.set_graph(-1)
    value.neg_()

    rows = written(listener)
    assert [row["graph_id"] for row in rows["operations"]] == [None, None, 7, None]
    assert [row["name"] for row in rows["operators"]] == ["aten::zeros", "aten::neg_"]
    assert [row["operator_id"] for row in rows["operations"]] == [0, 1, 1, 1]


def test_records_and_operators_are_numbered_over_rounds(listener):
    value = torch.zeros(2)
    written(listener)
    value.neg_()
    value.abs_()

    rows = written(listener)
    assert [row["record"] for row in rows["operations"]] == [1, 2]
    assert [row["operator_id"] for row in rows["operators"]] == [1, 2]
    assert written(listener) == {"operators": [], "operations": [], "allocations": []}


def test_arguments_of_an_operator_that_is_gone_count_as_written(listener):
    library = torch.library.Library("memory_rows", "DEF")
    library.define("gone(Tensor x) -> Tensor")
    library.impl("gone", lambda x: x.clone(), "CompositeExplicitAutograd")
    value = torch.zeros(2)
    torch.ops.memory_rows.gone(value)
    library._destroy()

    (row,) = [r for r in written(listener)["operators"] if r["name"] == "memory_rows::gone"]
    assert [(t["name"], t["role"]) for t in row["tensors"]] == [
        (None, "written"),
        (None, "created"),
    ]


def test_a_result_that_shares_a_results_storage_is_created(listener):
    library = torch.library.Library("memory_rows", "FRAGMENT")
    library.define("halves(Tensor x) -> (Tensor first, Tensor second)")

    def halves(x):
        made = x.clone()
        return made[:2], made[2:]

    library.impl("halves", halves, "CompositeExplicitAutograd")
    torch.ops.memory_rows.halves(torch.zeros(4))

    rows = written(listener)["operators"]
    library._destroy()
    (row,) = [r for r in rows if r["name"] == "memory_rows::halves"]
    assert [t["role"] for t in row["tensors"]] == ["read", "created", "created"]
    assert [t["offset_bytes"] for t in row["tensors"]] == [0, 0, 8]


@pytest.mark.costly("a million calls of an operator")
def test_lost_calls_are_a_message(listener):
    value = torch.zeros(1)
    for _ in range((1 << 20) + 3):
        value.neg_()

    written(listener)
    assert listener.messages == [
        (
            "warning",
            "operations-lost",
            "4 calls of operators or allocations are not recorded: too many waited to be written, "
            "or memory was lacking",
        )
    ]


def test_allocations_of_devices_and_of_the_host_are_told_apart(listener):
    def content(*numbers):
        return struct.pack(f"<{len(numbers)}q", *numbers)

    columns = listener._allocation_columns(
        Rows(), content(4096, 8192, 64), content(512, 1, -1), content(1, 2, 3),
        content(5, -1, -1), content(7, 7, 8), content(0, 0, 0), content(0, -1, 3),
    )  # fmt: skip

    rows = plain_rows(pa.Table.from_batches([batch_of_columns(TABLES["allocations"], columns)]))
    assert [row["device"] for row in rows] == [0, None, 3]
    assert [row["stack_id"] for row in rows] == [None, None, None]
    assert [(row["record"], row["address"], row["bytes"]) for row in rows] == [
        (0, 4096, 512),
        (1, 8192, 1),
        (2, 64, None),
    ]
    assert [row["end"] is None for row in rows] == [False, True, True]


def test_unique_calls_are_read_as_they_are_copied():
    words = struct.pack("<7q", 1 << 30 | 0x3FFFFFFF << 32, 6 | 1 << 8, 0, 0, 12, 3, 1)
    content = b"".join(
        (
            struct.pack("<I", 7), b"aten::f", struct.pack("<I", 3), b"out",
            struct.pack("<4I", 5, 2, 1, len(words)), words,
        )
    )  # fmt: skip

    (call, again) = unique_calls(content * 2)
    assert call == again
    assert call[:5] == ("aten::f", "out", 5, 2, 1)
    assert call.words[-2:] == (3, 1)

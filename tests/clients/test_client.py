"""The order of a client's method calls, and the effects of its hooks, overrides and rows."""

import re

import numpy as np
import pyarrow as pa
import pytest

from kvtrace.clients import TABLES, Client, Column, client_table, on
from kvtrace.clients.registry import as_client
from kvtrace.evaluate import TensorArgument
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.validation import validate

SEEN = client_table("seen", "an op", (Column("call_id", pa.int64(), "the call", key=True),
                                      Column("op", pa.string(), "its name")))  # fmt: skip


class Diary(Client):
    """Records the calls of its methods with their arguments."""

    name = "diary"

    def __init__(self):
        self.lines = []

    def pre_run(self, call):
        self.active, self.trips = {}, []
        self.lines.append(("pre_run", call.call_id))

    def arg(self, name, argument):
        shape = argument.shape if isinstance(argument, TensorArgument) else argument.value
        self.lines.append(("arg", name, shape))

    def grid(self, extents):
        self.lines.append(("grid", extents))

    def programs(self, extents):
        self.lines.append(("programs", extents))

    def access(self, access):
        """Add up lanes: batches may have any size and any order."""
        self.active[access.kind] = self.active.get(access.kind, 0) + access.active

    def loop(self, op, trips):
        self.trips += trips.tolist()

    def post_run(self, call):
        self.lines += [("access", *entry) for entry in sorted(self.active.items())]
        self.lines += [("trips", self.trips)] if self.trips else []
        self.lines.append(("post_run", call.call_id))


def test_methods_are_called_in_the_documented_order(over):
    diary = Diary()

    over(diary)

    assert diary.lines == [
        ("pre_run", 0),
        ("arg", "source", (1000,)),
        ("arg", "result", (1000,)),
        ("arg", "size", 1000),
        ("arg", "factor", 2.0),
        ("grid", (4, 1, 1)),
        ("programs", (4, 1, 1)),
        ("access", "load", 1000),
        ("access", "store", 1000),
        ("post_run", 0),
        ("pre_run", 1),
        ("arg", "source", (1000,)),
        ("arg", "result", (6,)),
        ("arg", "columns", 128),
        ("grid", (6, 1, 1)),
        ("programs", (6, 1, 1)),
        ("access", "load", 768),
        ("access", "store", 6),
        ("trips", [4] * 6),
        ("post_run", 1),
    ]


class Ops(Client):
    """Counts ops by name, and keeps the ids of their stacks."""

    name = "ops-by-name"
    tables = (SEEN,)

    def __init__(self):
        self.rows = []
        self.places = []

    def op(self, op, executions, elements, flops):
        self.rows.append({"call_id": self.call.call_id, "op": op.name})
        self.places.append(self.stack(op))

    def finalize(self):
        return {"client_seen": self.rows}


def test_rows_are_written_with_their_stacks(over):
    client = Ops()

    outcome, trace = over(client)

    rows = trace.table("client_seen").to_pylist()
    assert outcome.errors == ()
    assert {row["op"] for row in rows if row["call_id"] == 0} >= {"math.exp", "arith.mulf"}
    assert len(rows) == len(client.rows)
    assert set(client.places) <= set(trace.table("stacks")["stack_id"].to_pylist())
    assert trace.passes(trace.run_ids[0])["ops-by-name"] == {}
    assert validate(trace.path) == []


def test_finalize_of_built_in_clients_is_repeatable(over):
    clients = [as_client(name) for name in ("tracer", "profiler", "sanitizer")]

    over(*clients)

    for client in clients:
        assert client.finalize() == client.finalize()
        assert any(client.finalize().values())


class Values(Client):
    """Keeps the operands and results of ops."""

    def __init__(self):
        self.before, self.after, self.kinds, self.every = [], [], [], 0

    @on("math.exp", when="before")
    def begin(self, event):
        self.before.append((len(event.results), event.operands[0].copy()))

    @on("math.exp")
    def end(self, event):
        self.after.append((event.programs.tolist(), event.results[0].copy()))

    @on("load", "store")
    def memory(self, event):
        self.kinds.append((self.call.call_id, event.op.name, event.iteration))

    @on("*")
    def anything(self, event):
        self.every += 1


def test_hooks_get_the_values_of_all_programs_as_arrays(over):
    client = Values()
    numbers = np.arange(1000, dtype=np.float32) / 1000

    over(client)

    ((results, operand),) = client.before
    ((programs, result),) = client.after
    assert (results, programs) == (0, [0, 1, 2, 3])
    assert operand.shape == result.shape == (4, 256)
    np.testing.assert_array_equal(operand.reshape(-1)[:1000], numbers)
    np.testing.assert_allclose(result.reshape(-1)[:1000], np.exp(numbers), rtol=1e-6)
    assert client.kinds == [
        (0, "tt.load", 0), (0, "tt.store", 0), *[(1, "tt.load", n) for n in range(4)],
        (1, "tt.store", 0),
    ]  # fmt: skip
    assert client.every > 20


class Addresses(Client):
    def __init__(self):
        self.offsets = []

    @on("tt.load", when="before")
    def pointers(self, event):
        self.offsets.append(event.operands[0].copy())


def test_pointers_are_byte_offsets_from_the_data_pointer(over):
    client = Addresses()

    over(client)

    expected = 4 * np.arange(1024).reshape(4, 256)
    np.testing.assert_array_equal(client.offsets[0], expected)


class Stored(Client):
    """Keeps the stored values."""

    def __init__(self):
        self.stored = None

    @on("tt.store", when="before")
    def store(self, event):
        if self.call.call_id == 0:
            self.stored = event.operands[1].copy()


class Squares(Stored):
    """Computes x squared in place of exp(x)."""

    @on("math.exp", when="override")
    def square(self, event):
        return event.operands[0] ** 2


class Doubled(Stored):
    """Computes the op itself, and doubles its result."""

    @on("math.exp", when="override")
    def twice(self, event):
        (value,) = event.compute()
        return value * 2


@pytest.mark.parametrize(
    ("client", "expected"), [(Squares(), np.square), (Doubled(), lambda x: 2 * np.exp(x))]
)
def test_later_ops_see_the_results_of_an_override(over, client, expected):
    over(client)

    numbers = np.arange(1000, dtype=np.float32) / 1000
    stored = client.stored.reshape(-1)[:1000]
    np.testing.assert_allclose(stored, 2 * expected(numbers), rtol=1e-6)


class Dropped(Client):
    """Skips every store."""

    @on("store", when="override")
    def drop(self, event):
        return None


def test_an_override_that_does_not_compute_its_store_drops_the_store(over):
    diary = Diary()

    outcome, _ = over(Dropped(), diary)

    assert outcome.errors == ()
    assert {line[1] for line in diary.lines if line[0] == "access"} == {"load"}


class Nothing(Client):
    @on("math.exp", when="override")
    def keep(self, event):
        return None


def test_an_override_that_returns_none_changes_nothing(over):
    plain, kept = Values(), Values()

    over(plain)
    over(Nothing(), kept)

    np.testing.assert_array_equal(plain.after[0][1], kept.after[0][1])


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (np.zeros(7), r"returned \(7,\), which does not fit \(4, 256\)"),
        ("x", "does not fit"),
        ((1.0, 2.0), "returned 2 results; the op has 1"),
    ],
)
def test_an_override_with_a_wrong_result_fails_the_client(over, result, text):
    class Wrong(Client):
        name = "wrong"

        @on("math.exp", when="override")
        def wrong(self, event):
            return result

    outcome, _ = over(Wrong())

    assert re.search(text, str(outcome.errors[0]))


@pytest.mark.parametrize("op", ["tt.addptr", "scf.for"])
def test_pointers_and_regions_cannot_be_overridden(over, op):
    class Wrong(Client):
        @on(op, when="override")
        def wrong(self, event):
            return 0

    outcome, _ = over(Wrong())

    assert f"{op} cannot be overridden" in str(outcome.errors[0])


def test_an_override_can_define_an_unknown_op():
    import torch

    import kvtrace.evaluate as evaluation
    from kvtrace.clients.running import ClientPass
    from kvtrace.ir import parse
    from kvtrace.recorded_calls.recorded import Call
    from tests.clients import kernels
    from tests.kernels.launching import bind
    from tests.support.compile_ttir import compile_generic

    class Exp(Client):
        @on("test.unheard_of", when="override")
        def meaning(self, event):
            return np.exp(event.operands[0])

    x, out = torch.ones(16), torch.zeros(16)
    values = {"source": x, "result": out, "size": 16, "factor": 1.0}
    types = {"source": "*fp32", "result": "*fp32", "size": "i32", "factor": "fp32"}
    text = compile_generic(kernels.scale, types | {"BLOCK": "constexpr"}, {"BLOCK": 16})
    module = parse(text.replace('"math.exp"', '"test.unheard_of"'))
    call = Call(0, "scale", (1, 1, 1), module, tuple(bind(kernels.scale, values)), ())

    with pytest.raises(evaluation.UnsupportedOp):
        evaluation.evaluate(module, call.arguments, (1,))
    assert ClientPass([Exp()]).run(call) is None
    assert torch.allclose(out, torch.full((16,), float(np.exp(1))))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"ops": ("loads",)}, "'loads' is not a kind of op"),
        ({"ops": ()}, "nothing is not a kind"),
        ({"ops": ("load",), "when": "during"}, "when='during'"),
    ],
)
def test_invalid_hooks_are_an_error_at_their_definition(arguments, text):
    with pytest.raises(BadSetting, match=text):
        on(*arguments["ops"], when=arguments.get("when", "after"))


def test_tables_of_the_format_can_be_filled_by_any_client(over):
    class Loops(Client):
        name = "loops"
        tables = (TABLES["loops"],)

        def finalize(self):
            return {"loops": [{"call_id": 0, "op_index": 3, "trips_min": 7}]}

    _, trace = over(Loops())

    rows = trace.table("loops").to_pylist()
    assert [row["trips_min"] for row in rows] == [7]

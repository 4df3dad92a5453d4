"""Ops that determine an address, a mask and whether an op runs."""

from collections import defaultdict

import numpy as np
import pytest

from kvtrace.evaluate import Observer
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, full_array
from kvtrace.ir.feeding import feeding, loads_behind
from kvtrace.verdicts.replaying import run
from tests.metrics import kernels as older
from tests.support.defects import CORPUS
from tests.verdicts import bounds_kernels as kernels
from tests.verdicts import zero_kernels
from tests.verdicts.calls import call, tensor

EVERY = 8
"""Of the corpus of defects, one sample in so many is run."""


def fed(one, kind, number=0):
    """Names of the ops that feed the access of a kind and number."""
    access = [op for op in one.module.ops if op.name == kind][number]
    return {one.module.ops[index].name for index in feeding(access, one.module)}


def test_an_address_is_made_of_its_arithmetic_and_its_mask():
    one = call(older.copy, (4,), source=tensor(9), result=tensor(9), size=9, BLOCK=16)

    assert {"tt.get_program_id", "arith.muli", "arith.addi", "arith.cmpi"} <= fed(one, "tt.load")


def test_stored_data_does_not_feed_an_address():
    one = call(older.copy, (4,), source=tensor(9), result=tensor(9), size=9, BLOCK=16)

    assert "tt.load" not in fed(one, "tt.store")


def test_a_slice_ends_at_loads():
    """An index that is loaded is no arithmetic: its own address is not followed."""
    chosen = tensor(32, dtype="i32")
    table, result = tensor(40, 24), tensor(32, 24)
    one = call(
        kernels.rows_of, (8,), table=table, ids=chosen, result=result, width=24, WIDTH=32, ROWS=4
    )

    assert "tt.load" in fed(one, "tt.load", 1)
    assert "tt.load" not in fed(one, "tt.load", 0)


def test_a_loops_bounds_feed_what_is_in_it():
    counts = tensor(4, dtype="i32")
    one = call(
        kernels.sum_until, (4,), counts=counts, source=tensor(24), result=tensor(32), BLOCK=8
    )

    assert "tt.load" in fed(one, "tt.load", 1)
    assert "tt.load" not in fed(one, "tt.store")


def test_a_return_feeds_only_ops_after_it():
    one = call(
        zero_kernels.gather_or_return, (3,), starts=tensor(4, dtype="i32"), table=tensor(5),
        result=tensor(3),
    )  # fmt: skip

    assert "arith.cmpi" not in fed(one, "tt.load", 2)
    assert "arith.cmpi" in fed(one, "tt.load", 3)
    assert "arith.cmpi" not in fed(one, "tt.store", 0)
    assert "arith.cmpi" in fed(one, "tt.store", 1)


def test_only_the_carried_values_that_are_used_feed_an_address():
    """The sum that is carried beside it decides no address."""
    one = call(
        kernels.counted_rows, (2,), rows=tensor(8, dtype="i32"), table=tensor(64),
        result=tensor(2), count=4, WIDTH=8,
    )  # fmt: skip

    for access in ("tt.load", "tt.store"):
        assert "arith.muli" in fed(one, access)
        assert "arith.cmpi" in fed(one, access)
        assert "arith.addf" not in fed(one, access)


class Other(Instrument):
    """Gives one load (an op's index, None: no load) other numbers than memory holds."""

    def __init__(self, load):
        super().__init__()
        self._load = load

    def wrapped(self, op, step):
        if op.index != self._load or value_type(op.results[0].type).pointer:
            return step
        result = op.results[0]

        def changed(values, scope):
            step(values, scope)
            if not isinstance(values[result.id], Unknown):
                numbers = full_array(values[result.id], value_type(result.type))
                places = np.arange(numbers.size).reshape(numbers.shape)
                values[result.id] = ((numbers == 0) + places % 3).astype(numbers.dtype)

        return changed


class Goes(Observer):
    """Who touches what, by op; and the tensors' storages, by what is done to them."""

    def __init__(self, arguments):
        self._arguments = arguments
        self.touched = defaultdict(list)
        self.storages = defaultdict(set)

    def access(self, access):
        elements = access.elements()
        if access.argument is not None:
            storage = self._arguments[access.argument].storage
            self.storages[access.kind == "load"].add(id(storage))
        if elements is not None:
            pairs = zip(*(each.tolist() for each in elements), strict=True)
            self.touched[access.op.index] += [(access.argument, *pair) for pair in pairs]


def going(one, load):
    """What an evaluation touches; None: it came to no end."""
    seen = Goes(one.arguments)
    with np.errstate(all="ignore"):
        failure = run(one, (seen,), contents="all", lanes=1 << 20, instrument=Other(load))
    return None if failure else seen


def undecided_by(one):
    """Hold what feeds the accesses of a call against runs in which a load gives other numbers."""
    compared = 0
    whole = going(one, None)
    if whole is None or whole.storages[True] & whole.storages[False]:
        return 0  # what a load gives may come back through memory
    for load in (op for op in one.module.ops if op.name == "tt.load"):
        changed = going(one, load.index)
        for op in () if changed is None else (one.module.ops[i] for i in whole.touched):
            if load.index not in loads_behind(op, one.module):
                first, second = whole.touched[op.index], changed.touched[op.index]
                assert sorted(first) == sorted(second), (one.kernel, load, op)
                compared += 1
    return compared


@pytest.mark.costly("every kernel; chosen ones stay by day")
def test_ops_that_do_not_feed_an_access_do_not_change_it(say):
    small = [s for s in CORPUS[::EVERY] if not s.look_at and s.programs <= 100]
    compared = sum(undecided_by(sample.call()) for sample in small)
    say("soundness", f"{compared} pairs of a load and an access that it does not feed")
    assert compared > 20

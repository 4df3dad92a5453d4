"""What is where among a memory op's operands: every table says the same."""

from typing import NamedTuple

import pytest

from kvtrace.passes import data_dependence
from kvtrace.symbolic import definedness
from kvtrace.verdicts import feeding, numerics


class Operands(NamedTuple):
    """Positions of what is written, of all data (what is written, compared, or instead)."""

    written: tuple[int, ...]
    data: tuple[int, ...]
    mask: int | None = None


#: As Triton's TableGen definitions have them (include/triton/Dialect/Triton/IR/TritonOps.td).
OPERANDS = {
    "tt.load": Operands((), (2,), 1),
    "tt.store": Operands((1,), (1,), 2),
    "tt.atomic_rmw": Operands((1,), (1,), 2),
    "tt.atomic_cas": Operands((2,), (1, 2)),
    "tt.descriptor_load": Operands((), ()),
    "tt.descriptor_store": Operands((1,), (1,)),
    "tt.descriptor_reduce": Operands((1,), (1,)),
    "tt.descriptor_gather": Operands((), ()),
    "tt.descriptor_scatter": Operands((3,), (3,)),
}


@pytest.mark.parametrize("table", [feeding._DATA, data_dependence._DATA])
def test_data_decides_neither_addresses_nor_masks(table):
    assert table == {name: each.data for name, each in OPERANDS.items() if each.data}


def test_what_may_be_undefined_is_data():
    table = dict(definedness._STORED)
    compared = table.pop("tt.atomic_cas")
    assert compared == OPERANDS["tt.atomic_cas"].data  # what is compared decides what is written
    assert table == {n: each.written for n, each in OPERANDS.items() if n != "tt.atomic_cas"}


def test_every_op_that_writes_is_watched_for_what_is_not_finite():
    writing = {n: (each.written[0], each.mask) for n, each in OPERANDS.items() if each.written}
    assert writing == numerics._WRITING

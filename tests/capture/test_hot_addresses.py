"""Addresses of launches' tensors, as both recorders keep them, in the order of the arguments."""

import numpy as np
import pytest

from kvtrace.capture.arguments import addresses_of, argument_records
from kvtrace.capture.records import Parameter
from kvtrace.schema.hot_rows import address_lists
from tests.capture.recorders import Adapter, Kernel, recorder_of, rows

torch = pytest.importorskip("torch")

#: The kernel's signature: calls may pass these by position and by name, in any order.
NAMES = ("x", "y", "n", "out")


class Placing(Adapter):
    """An adapter that says where the arguments of a new call point."""

    def __init__(self, recorder, addresses=addresses_of):
        super().__init__()
        self.recorder = recorder
        self.addresses = addresses

    def new_call(self, owner, kernel, kernel_id, grid, args, kwargs):
        named = dict(zip(NAMES, args, strict=False)) | kwargs
        values = [named[name] for name in NAMES]
        parameters = [Parameter(name, "i32" if name == "n" else "*fp32") for name in NAMES]
        self.recorder.place(self.addresses(argument_records(parameters, values), values))
        return super().new_call(owner, kernel, kernel_id, grid, args, kwargs)


def kept(recorder, count):
    """The addresses of the next launches as Python's lists."""
    return address_lists(*recorder.drain_addresses(count)).to_pylist()


def recorded(launches, **options):
    """A recorder that keeps addresses, after launches: (args, kwargs) each."""
    recorder, kernel = recorder_of(), Kernel()
    recorder.keeps_addresses = True
    adapter = Placing(recorder, **options)
    for args, kwargs in launches:
        recorder.record(adapter, None, kernel, (1,), args, kwargs, 1, 2)
    return recorder


def tensors(count):
    return [torch.zeros(4) for _ in range(count)]


def pointers(*values):
    return [value.data_ptr() for value in values]


def test_addresses_follow_the_signature_however_arguments_are_passed():
    x, y, out = tensors(3)

    recorder = recorded(
        [((x, y, 3, out), {}), ((x,), {"out": out, "n": 3, "y": y}), ((x, y, 3, out), {})]
    )

    assert len(rows(recorder)) == 3
    assert kept(recorder, 3) == [pointers(x, y, out)] * 3


def test_each_launch_of_one_call_has_its_own_addresses():
    values = tensors(12)
    given = [tuple(values[i : i + 3]) for i in range(0, 12, 3)]

    recorder = recorded([((x, y, 3, out), {}) for x, y, out in given])

    assert set(rows(recorder)["call_id"].tolist()) == {0}
    assert kept(recorder, 4) == [pointers(*three) for three in given]


def test_a_tensor_that_is_passed_twice_has_both_places():
    x, out, other = tensors(3)

    recorder = recorded([((x, x, 3, out), {}), ((other, other, 3, x), {})])

    assert kept(recorder, 2) == [pointers(x, x, out), pointers(other, other, x)]


def test_a_call_with_an_address_that_no_argument_has_is_without_addresses():
    x, y, out = tensors(3)

    recorder = recorded([((x, y, 3, out), {})] * 2, addresses=lambda *_: (12345,))

    assert kept(recorder, 2) == [None, None]


def test_rows_that_are_appended_have_no_addresses_and_do_not_take_those_of_others():
    x, y, out = tensors(3)
    recorder = recorded([((x, y, 3, out), {})])
    recorder.append(0, 1, 2)

    assert kept(recorder, 2) == [pointers(x, y, out), None]


def test_addresses_are_drained_in_parts():
    x, y, out = tensors(3)
    recorder = recorded([((x, y, 3, out), {}), ((y, x, 3, out), {}), ((out, x, 3, y), {})])

    assert kept(recorder, 1) == [pointers(x, y, out)]
    assert kept(recorder, 2) == [pointers(y, x, out), pointers(out, x, y)]
    assert kept(recorder, 1) == [None]


def test_nothing_is_kept_unless_asked_for():
    x, y, out = tensors(3)
    recorder, adapter = recorder_of(), None
    adapter = Placing(recorder)
    recorder.record(adapter, None, Kernel(), (1,), (x, y, 3, out), {}, 1, 2)

    assert not recorder.keeps_addresses
    assert kept(recorder, 1) == [None]


def test_forgetting_leaves_no_addresses_behind():
    x, y, out = tensors(3)
    recorder = recorded([((x, y, 3, out), {})])

    recorder.forget()
    recorder.record(Placing(recorder), None, Kernel(), (1,), (out, y, 3, x), {}, 1, 2)

    assert recorder.keeps_addresses
    assert kept(recorder, 1) == [pointers(out, y, x)]


@pytest.mark.costly("many launches; few keep their order by day")
def test_many_launches_keep_their_order():
    base = torch.zeros(400_000)
    views = [base[i * 4 : i * 4 + 4] for i in range(20_000)]
    recorder = recorded([((view, base, 3, view), {}) for view in views])

    found = np.asarray(kept(recorder, len(views)))

    assert found[:, 0].tolist() == pointers(*views)
    assert (found[:, 1] == base.data_ptr()).all()

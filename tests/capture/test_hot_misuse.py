"""The compiled hot path with what kvtrace never gives it, and with values that change meanwhile."""

import gc
import itertools
import sys
from contextlib import suppress

import pytest
import torch

from kvtrace.capture.arguments import MOST_NESTED
from kvtrace.schema.hot_rows import columns_in_python
from kvtrace.schema.spool import ROW
from tests.capture.recorders import Adapter, Kernel, _hot, recorder_of, rows

SCHEDULE = (10, 10, 1, 10, 10, 1)


def looks_of(recorder, schedule=SCHEDULE):
    budget, room = (10**12, 1.0, 0, 0.0), (100, 100, 1 << 30, 1 << 20)
    return recorder.looks(itertools.count(1), budget, room, schedule, (0,) * 6, None, 1)


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_rows_may_begin_at_any_address(offset):
    packed = b"".join(ROW.pack(n, n + 1, n, 0, 7, 0, -1, 0) for n in range(3))
    made = _hot.launch_columns(memoryview(b"\0" * offset + packed)[offset:], 0, 0)
    assert made == _hot.launch_columns(packed, 0, 0)


@pytest.mark.parametrize("last", [-(2**63), 2**63 - 1, 0])
def test_times_of_launches_may_be_any_number(last):
    packed = ROW.pack(-(2**63), 2**63 - 1, 0, 0, 0, 0, 0, 0) + ROW.pack(
        2**63 - 1, -(2**63), *[0] * 6
    )
    *_, stepped_back = _hot.launch_columns(packed, 0, last)
    assert stepped_back == columns_in_python(packed, 0, last).stepped_back


def test_only_a_type_has_frozen_objects():
    _hot.find_collector(gc)
    with pytest.raises(TypeError, match="a type is needed"):
        _hot.frozen_objects(1)


@pytest.mark.parametrize("path", [(), (-1,), (0, -1, 1), (0, "x")])
def test_a_target_without_a_place_is_refused(path):
    recorder = recorder_of()
    with pytest.raises((ValueError, TypeError)):
        recorder.look(looks_of(recorder), None, [(0, path)])


def test_a_schedule_without_steps_is_refused():
    with pytest.raises(ValueError, match="step by step"):
        looks_of(recorder_of(), (10, 10, 0, 10, 10, 1))


def nested(depth):
    value = (1,)
    for _ in range(depth):
        value = [value]
    return value


def endless():
    value = []
    value.append(value)
    return value


@pytest.fixture
def _deep_stack():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("_deep_stack")
@pytest.mark.parametrize("value", [endless(), nested(MOST_NESTED), nested(1500)])
def test_arguments_that_are_nested_too_deep_are_refused(value):
    recorder = recorder_of()
    with pytest.raises(RecursionError, match="nested more than 128 deep"):
        recorder.record(Adapter(), None, Kernel(), (1,), (value,), {}, 1, 2)
    assert rows(recorder).size == 0


def test_nested_arguments_are_told_apart():
    recorder, adapter, kernel = recorder_of(), Adapter(), Kernel()
    for depth in (MOST_NESTED - 1, MOST_NESTED - 2, MOST_NESTED - 1):
        recorder.record(adapter, None, kernel, (1,), (nested(depth),), {}, 1, 2)
    assert rows(recorder)["call_id"].tolist() == [0, 1, 0]


class Freed:
    """An argument that only the launch's dictionary has."""


@pytest.mark.parametrize("given", [Freed, lambda: [Freed(), Freed()], lambda: torch.ones(3).conj])
def test_arguments_may_change_while_they_are_described(given):
    def describe(value):
        arguments.clear()
        arguments.update({f"a{number}": number for number in range(50)})
        return b"x" * 100, None

    arguments = {"a": given(), "b": 1, "c": given()}
    recorder = recorder_of(describe=describe)
    with suppress(RuntimeError):  # Python's own, as the dictionary changes
        recorder.record(Adapter(), None, Kernel(), (1,), (), arguments, 1, 2)
    assert len(arguments) == 50


def test_a_module_that_is_imported_again_has_the_same_types():
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(_hot.__name__, _hot.__file__)
    again = module_from_spec(spec)
    spec.loader.exec_module(again)
    assert again is not _hot
    assert again.Recorder is _hot.Recorder

"""Records of the page on a run's memory, of hand-made runs: numbers worked out by hand."""

from dataclasses import replace

import pytest

from kvtrace.addons.memory.page_model import StorageLife, StorageUse
from kvtrace.addons.memory.page_storages import run_storages
from kvtrace.addons.memory.report import SOURCE
from kvtrace.addons.memory.shown_storages import MOST_STORAGES
from kvtrace.converters.report.pack import json_text
from kvtrace.schema.trace import resolve
from tests.addons.memory import hand_made
from tests.addons.memory.hand_made import given, tensor
from tests.converters.replayed_trace import blocks_of, context_of

UNSEEN = "made where kvtrace does not see it"
ZEROS = "torch.zeros (first called at model.py:20)"
MUL = "torch.mul (first called at model.py:30)"
EMPTY = "torch.empty at model.py:12"


def memory_of(folder):
    return run_storages(context_of(resolve(str(folder))), 0)


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    hand_made.small_program(folder, frees=False)
    return memory_of(folder)


def test_bytes_in_use_and_their_peak_are_those_of_the_storages(memory):
    device, other = memory.devices

    assert (memory.frees_recorded, memory.count, memory.kinds) == (False, 6, 5)
    assert list(zip(device.times, device.bytes, strict=True)) == [
        (10, 1000), (20, 3000), (30, 7000), (50, 11_000), (51, 3000), (53, 0), (70, 1000), (71, 0),
    ]  # fmt: skip
    assert (device.peak, device.peak_at, device.bin_ns) == (11_000, 50, None)
    assert device.when == "reached after launch 1 of scale, in mark loss, in step 1"
    assert [(holder.place, holder.bytes) for holder in device.holders] == [
        (ZEROS, 4000), (MUL, 4000), (UNSEEN, 2000), (EMPTY, 1000),
    ]  # fmt: skip
    assert (other.device, other.peak) == (1, 500)


def test_storages_are_listed_by_size_with_their_number_of_alike(memory):
    assert [(life.made, life.bytes, life.alike, life.at_peak) for life in memory.storages] == [
        (ZEROS, 4000, 1, True), (MUL, 4000, 1, True), (UNSEEN, 2000, 1, True),
        (EMPTY, 1000, 2, True), ("torch.ones (first called at model.py:40)", 500, 1, True),
    ]  # fmt: skip
    assert memory.largest_left_out == 0


def test_life_has_who_wrote_and_read_and_when(memory):
    zeros = memory.storages[0]
    by_operator = StorageUse(
        call=None, by=ZEROS, tensor=None, count=1, first=30, last=30, reads=0, writes=4000,
        size=4000, unwritten=0, moves=False, reason="",
    )  # fmt: skip
    kernel = zeros.uses[1]

    assert replace(zeros, uses=()) == StorageLife(
        made=ZEROS, is_seen=True, device=0, bytes=4000, alike=1, at_peak=True, begin=30,
        last_use=50, end=None, replaced=False, uses=(), uses_left_out=0, findings=(),
    )  # fmt: skip
    assert zeros.uses == (
        by_operator,
        kernel,
        replace(by_operator, by=MUL, first=50, last=50, reads=4000, writes=0),
    )
    assert (kernel.call is not None, kernel.first, kernel.count) == (True, 40, 1)
    assert (kernel.reads, kernel.writes, kernel.size) == (None, None, 4000)  # it has no IR
    assert kernel.reason


def test_unseen_storage_begins_with_its_first_use(memory):
    unseen = memory.storages[2]

    assert (unseen.is_seen, unseen.begin, unseen.last_use) == (False, 20, 52)
    assert [(use.count, use.first, use.last) for use in unseen.uses] == [(2, 20, 52)]


def test_recorded_frees_end_lives(tmp_path):
    hand_made.small_program(tmp_path, frees=True)

    memory = memory_of(tmp_path)

    assert memory.frees_recorded
    assert memory.devices[0].peak == 11_216
    ends = {(life.made, life.end) for life in memory.storages}
    assert {(ZEROS, 65), (MUL, 55), (UNSEEN, None)} <= ends
    (zeros,) = (life for life in memory.storages if life.made == ZEROS)
    assert (zeros.bytes, zeros.uses[0].size) == (4096, 4000)


def many_storages(folder, rounds):
    """Write a run that makes storages of 300 sizes again and again, and uses one 50 ways."""
    sizes = range(4, 4 * 301, 4)
    makers = [("aten::zeros", 10, [tensor("created", size)]) for size in sizes]
    users = [("aten::add_.Tensor", 100 + n, [tensor("written", 1200)]) for n in range(50)]
    events, time = [], 0
    for _ in range(rounds):
        for number, size in enumerate(sizes):
            time += 10
            events.append(("operator", time, number, [size << 12]))
        for number in range(len(users)):
            time += 10
            events.append(("operator", time, len(makers) + number, [1200 << 12]))
    hand_made.write(folder, operators=[*makers, *users], calls=[[given(4)]], events=events)
    return memory_of(folder)


def test_size_of_the_page_does_not_grow_with_the_run(tmp_path):
    few, many = (many_storages(tmp_path / str(rounds), rounds) for rounds in (3, 12))

    assert (few.count, many.count, few.kinds, many.kinds) == (900, 3600, 300, 300)
    assert len(few.storages) == len(many.storages) == MOST_STORAGES
    assert [life.bytes for life in many.storages] == list(range(1200, 400, -4))
    assert many.largest_left_out == 400
    assert {life.alike for life in many.storages} == {12}
    (device,) = many.devices
    assert len(device.times) <= 400
    assert device.bin_ns is not None
    assert max(device.bytes) == device.peak
    assert len(json_text(many)) < 1.1 * len(json_text(few))


def test_uses_between_the_first_and_the_last_ones_are_left_out(tmp_path):
    life = many_storages(tmp_path, 1).storages[0]

    assert len(life.uses) == 32
    assert life.uses_left_out == 51 - 32
    lines = [int(use.by.rpartition(":")[2].rstrip(")")) for use in life.uses]
    assert lines == [10, *range(100, 123), *range(142, 150)]


def test_run_without_addresses_has_no_storages(tmp_path):
    hand_made.write(
        tmp_path, operators=[("aten::zeros", 10, [tensor("created", 64)])], calls=[],
        events=[("operator", 10, 0, None)],
    )  # fmt: skip

    memory = memory_of(tmp_path)

    assert (memory.devices, memory.storages, memory.count) == ((), (), 0)


def test_run_without_recorded_memory_has_no_block(tmp_path):
    hand_made.write(tmp_path, operators=[], calls=[[given(4)]], events=[("launch", 1, 0, None)])
    assert list(SOURCE.blocks(context_of(resolve(str(tmp_path))))) == []


def test_rows_that_do_not_fit_together_are_named_in_place_of_the_view(tmp_path):
    makers = [("aten::zeros", 10, None)]
    events = [("operator", 10, 0, [64]), ("operator", 20, 7, [64])]
    hand_made.write(tmp_path, operators=makers, calls=[], events=events)

    budget = blocks_of(resolve(str(tmp_path)))

    assert "memory/0" not in budget.blocks
    (dropped,) = budget.dropped
    assert "about memory do not fit together" in dropped.text

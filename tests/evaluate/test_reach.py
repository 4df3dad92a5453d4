"""Storages that a kernel reaches through addresses in memory."""

import numpy as np

from corpus.kernels import language
from kvtrace.evaluate.arguments import ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.reach import LiveStorage, follows_addresses, reached
from tests.kernels.launching import compile_for


class Memory:
    """Storages at made-up addresses."""

    def __init__(self, **held):
        self.held = {name: LiveStorage(storage, dtype) for name, (storage, dtype) in held.items()}
        self.asked = []

    def find(self, addresses):
        self.asked.append(addresses.tolist())
        return [
            held
            for held in self.held.values()
            if any(held.storage.start <= a < held.storage.start + held.storage.nbytes
                   for a in addresses)
        ]  # fmt: skip


def storage(address, words):
    data = np.array(words, np.int64)
    return Storage(data.nbytes, data.view(np.uint8), address)


def tensor(name, held, count, offset=0, dtype="i64"):
    return TensorArgument(name, held, offset, dtype, (count,), (1,))


BASE = 1 << 40


def test_tensors_reached_through_tables_are_named_by_the_table_and_index():
    inner = storage(BASE + 4096, [7, BASE + 8192 + 8])
    end = storage(BASE + 8192, [BASE + 4096, 5])
    memory = Memory(inner=(inner, "i64"), end=(end, "fp32"))
    table = tensor("table", storage(BASE, [3, 0, BASE + 4096]), 3)

    result = reached(
        [ScalarArgument("n", 1 << 30), ScalarArgument("m", 1 << 31), table], memory.find
    )

    assert [(t.name, t.storage, t.dtype, t.shape) for t in result] == [
        ("*table[2]", inner, "i64", (2,)),
        ("**table[2][1]", end, "fp32", (4,)),
    ]
    assert memory.asked == [[1 << 31], [BASE + 4096], [BASE + 8200]]


def test_an_address_inside_an_arguments_view_adds_no_storage_but_one_outside_does():
    shared = storage(BASE + 4096, range(8))
    view = tensor("view", shared, 2, offset=16)
    within = tensor("within", storage(BASE, [BASE + 4096 + 24]), 1)
    beside = tensor("beside", storage(BASE + 64, [BASE + 4096 + 40]), 1)
    memory = Memory(shared=(shared, "i64"))

    assert reached([view, within], memory.find) == []
    (result,) = reached([view, beside], memory.find)

    assert result.storage is shared
    assert result.storage_bytes == result.view_bytes == (0, 64)


def test_integer_arguments_are_followed_and_a_table_may_begin_inside_its_storage():
    target = storage(BASE + 4096, [1])
    memory = Memory(target=(target, "fp16"))
    table = tensor("table", storage(BASE, [0, 0, BASE + 4096]), 2, offset=8)

    assert [t.name for t in reached([table], memory.find)] == ["*table[1]"]
    assert [t.name for t in reached([ScalarArgument("base", BASE + 4100)], memory.find)] == [
        "*base"
    ]
    assert reached([ScalarArgument("base", 2.0**70)], memory.find) == []


def test_kernels_that_make_pointers_of_integers_follow_addresses():
    import torch

    given = {"table": torch.zeros(4, dtype=torch.int64), "out": torch.zeros(4)}
    assert follows_addresses(compile_for(language.loaded_pointers, given, {"BLOCK": 4}))
    x = {"x": torch.zeros(4), "out": torch.zeros(4)}
    assert not follows_addresses(compile_for(language.inline_tanh, x, {"BLOCK": 4}))

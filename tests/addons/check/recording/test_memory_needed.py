"""Which memory of large launches is kept: that of some programs."""

import numpy as np
import pytest
import torch

import kvtrace
from corpus.kernels import attention, basic
from kvtrace.addons.check.comparing import compared, computed
from kvtrace.addons.check.recording import memory_needed
from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.addons.check.recording.kept_memory import checked, kept
from tests.backends.compiled_kernels import check_kernels as kernels


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(memory_needed, "LAUNCH_BYTES", 40_000)
    monkeypatch.setattr(memory_needed, "GAP", 0)


def test_recorded_memory_of_some_programs_is_exactly_their_reads_and_writes(tmp_path):
    count = 100_000
    x, y, out = torch.randn(count), torch.randn(count), torch.zeros(count)
    programs = -(-count // 256)
    with kvtrace.capture(tmp_path, check="first"):
        kernels.add[(programs,)](x, y, out, count, BLOCK=256)
    found = kept(tmp_path)
    chosen = found.launches[0]["programs"]
    assert len(chosen) == memory_needed.PROGRAMS
    assert (chosen[0], chosen[-1]) == (0, programs - 1)
    for arg, when, tensor in (
        (0, "before", x),
        (1, "before", y),
        (2, "before", torch.zeros(count)),
        (2, "after", out),
    ):
        spans = [(p * 1024, tensor[p * 256 : (p + 1) * 256].numpy().tobytes()) for p in chosen]
        assert found.memory[0, arg, when] == spans
    assert set(found.memory) == {
        (0, 0, "before"), (0, 1, "before"), (0, 2, "before"), (0, 2, "after")
    }  # fmt: skip


@pytest.mark.parametrize("name", ["matmul", "softmax", "attention", "descriptors"])
def test_recorded_memory_suffices_to_compute_the_programs_outputs(tmp_path, name):
    """From NaNs wherever nothing was kept; what the evaluator gives is what the launch left."""
    torch.manual_seed(0)
    a, b = torch.randn(4, 128, 32), torch.randn(4, 128, 32)
    out, more = torch.zeros(4, 128, 32), torch.zeros(512)
    strides = (2 * 128 * 32, 128 * 32, 32)
    function, grid, given, constexprs = {
        "matmul": (basic.matmul, (36,),
                   (a[:3].reshape(384, 32), b[:2].reshape(32, 256), torch.zeros(384, 256),
                    384, 256, 32, 32, 1, 256, 1, 256, 1),
                   {"BM": 64, "BN": 32, "BK": 16, "GROUP": 2, "ACTIVATION": "leaky_relu",
                    "PRECISION": "ieee"}),
        "softmax": (basic.softmax, (200,),
                    (out.reshape(512, 32), a.reshape(512, 32), 32, 32, 512, 30),
                    {"BLOCK": 32}),
        "attention": (attention.attention, (8, 4),
                      (a, b, a * 2, out, more, 0.5, 2, 128, *strides),
                      {"BM": 16, "BN": 16, "D": 32, "CAUSAL": True}),
        "descriptors": (attention.attention_with_descriptors, (8, 4),
                        (a, b, a * 2, out, 0.5, 2, 128, 2), {"BM": 16, "BN": 16, "D": 32}),
    }[name]  # fmt: skip
    with kvtrace.capture(tmp_path, check="first"):
        function[grid](*given, **constexprs)
    found = kept(tmp_path)
    programs = found.launches[0]["programs"]
    assert programs
    trace = open_trace(tmp_path)
    (call,) = calls_of(trace, trace.runs[0])
    (row,) = plain_rows(trace.table("calls"))
    groups = {arg["name"]: arg["alias_group"] for arg in row["args"]}
    data = {}
    for argument in call.arguments:
        if isinstance(argument, TensorArgument):
            storage, group = argument.storage, groups[argument.name]
            storage.data = data[group] = np.full(storage.nbytes, 255, np.uint8)
            for at, part in found.memory.get((0, group, "before"), ()):
                data[group][at : at + len(part)] = np.frombuffer(part, np.uint8)
    evaluate(call.module, call.arguments, call.grid, programs=np.array(programs))
    after = {key[1]: parts for key, parts in found.memory.items() if key[2] == "after"}
    assert after
    for group, parts in after.items():
        for at, part in parts:
            computed = data[group][at : at + len(part)].view(np.float32)
            left = np.frombuffer(part, np.float32)
            # A sum in another order can round a factor of the next product to tf32's next number.
            np.testing.assert_allclose(computed, left, rtol=2**-9, atol=2**-9)


def test_strided_accesses_are_recorded_as_pieces_with_small_gaps_included(tmp_path, monkeypatch):
    count = 20_000
    x, out = torch.randn(5 * count), torch.zeros(3 * count)
    for gap, pieces in ((15, 128), (16, 1)):
        monkeypatch.setattr(memory_needed, "GAP", gap)
        monkeypatch.setattr(memory_needed, "PROGRAMS", 1)
        folder = tmp_path / str(gap)
        with kvtrace.capture(folder, check="first"):
            kernels.strided[(-(-count // 128),)](x, out, count, 5, 3, BLOCK=128)
        found = kept(folder)
        assert found.launches[0]["programs"] == [78]
        assert len(found.memory[0, 0, "before"]) == pieces
        data = x.numpy().tobytes()
        assert all(part == data[at : at + len(part)]
                   for at, part in found.memory[0, 0, "before"])  # fmt: skip


def test_fewer_programs_are_recorded_if_there_are_too_many_pieces(tmp_path, monkeypatch):
    count = 20_000
    monkeypatch.setattr(memory_needed, "SPANS", 300)
    x, out = torch.randn(5 * count), torch.zeros(3 * count)
    with kvtrace.capture(tmp_path, check="first"):
        kernels.strided[(-(-count // 128),)](x, out, count, 5, 3, BLOCK=128)
    assert kept(tmp_path).launches[0]["programs"] == [0, -(-count // 128) - 1]


def test_accesses_are_evaluated_once_for_each_kind_of_launch(tmp_path, monkeypatch):
    asked, evaluate = [], memory_needed.evaluate

    def counted(*args, **kwargs):
        asked.append(args[2])
        evaluate(*args, **kwargs)

    monkeypatch.setattr(memory_needed, "evaluate", counted)
    x = torch.randn(100_000)
    with kvtrace.capture(tmp_path, check="kernel:double"):
        for programs in (300, 300, 200, 300):
            kernels.double[(programs,)](x.clone(), 100_000, BLOCK=256)
    assert asked == [(300, 1, 1), (200, 1, 1)]
    assert set(kept(tmp_path).launches) == {0, 1, 2, 3}


def test_bytes_read_through_small_indices_are_recorded(tmp_path):
    count = 100_000
    x, out = torch.randn(count), torch.zeros(count)
    wanted = {}
    with kvtrace.capture(tmp_path, check="kernel:gather"):
        for seq in range(3):
            index = torch.randint(count // 100, (count,)) * (seq + 1)
            kernels.gather[(391,)](x, index, out, count, BLOCK=256)
            wanted[seq] = index
    found = kept(tmp_path)
    for seq, index in wanted.items():
        programs = found.launches[seq]["programs"]
        assert len(programs) > 1
        lanes = torch.cat([torch.arange(count)[p * 256 : (p + 1) * 256] for p in programs])
        places = {at + byte for at, part in found.memory[seq, 0, "before"]
                  for byte in range(0, len(part), 4)}  # fmt: skip
        assert places == {4 * int(each) for each in index[lanes]}
        parts = b"".join(part for _, part in found.memory[seq, 1, "before"])
        assert parts == index[lanes].numpy().tobytes()
        (oracle,) = [each for each in checked(tmp_path) if each.seq == seq]
        assert compared(computed(oracle)).answer == "agrees"


def test_large_launch_with_loop_bounds_from_small_integers_is_recorded(tmp_path):
    count = 100_000
    x, out = torch.randn(count), torch.zeros(count)
    with kvtrace.capture(tmp_path, check="first"):
        kernels.until[(300,)](x, torch.tensor([3]), out, BLOCK=256)
    (launch,) = checked(tmp_path)
    assert launch.programs is not None
    assert compared(computed(launch)).answer == "agrees"


def test_a_launch_whose_accesses_take_too_long_to_evaluate_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(memory_needed, "_STEPS", 3)
    with kvtrace.capture(tmp_path, check="first"):
        kernels.double[(300,)](torch.ones(100_000), 100_000, BLOCK=256)
    found = kept(tmp_path)
    assert found.launches == {}
    assert "takes too long" in found.messages["check-left-out"][0][0]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gather", "the addresses of a load are not known"),
        ("total", "the result of an atomic operation depends on all programs"),
        ("until", "the trip count of a loop depends on data"),
        ("pointed", "the kernel follows addresses that it loads from memory"),
    ],
)
def test_a_large_launch_with_unknown_addresses_is_left_out_with_the_reason(tmp_path, name, why):
    count = 100_000
    x, out = torch.randn(count), torch.zeros(count)
    given = {
        "gather": (x, torch.randperm(count).repeat(2), out, count),
        "total": (x, out, count),
        "until": (x, torch.full((200_000,), 3), out),
        "pointed": (torch.tensor([x.data_ptr()]), out),
    }[name]
    with kvtrace.capture(tmp_path, check=f"kernel:{name}"):
        for _ in range(3):
            getattr(kernels, name)[(300,)](*given, BLOCK=256)
    found = kept(tmp_path)
    assert (found.launches, found.memory) == ({}, {})
    (text, once), (_, again) = found.messages["check-left-out"]
    assert why in text
    assert once + again == 3

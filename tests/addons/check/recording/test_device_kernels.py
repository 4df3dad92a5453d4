"""Our GPU kernels: assembled by ptxas, run as text, and compared with NumPy and with floats."""

import itertools
import random
import subprocess
from collections import deque
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from kvtrace.addons.check.recording import device_kernels, graph_copies
from kvtrace.addons.check.recording.device_answers import Answer, DigestAnswer
from kvtrace.addons.check.recording.device_code import (
    ATTEMPTS,
    FORMATS,
    INFINITE,
    KEPT,
    NAN,
    PTX,
    THREADS,
)
from kvtrace.addons.check.recording.device_kernels import (
    DeviceKernels,
    Piece,
    Reserve,
    digest_table,
    finite_table,
)
from kvtrace.addons.check.recording.host_kernels import digest, flags
from kvtrace.forks import Lock
from tests.addons.check.recording.ptx_machine import Launch, Memory
from tests.support.tiers import some

TYPES = {
    "fp64": np.float64,
    "fp32": np.float32,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
}

BASE = 0x7000_0000_0000
RESERVES = 0x6000_0000_0000
AREA = 1 << 16


def ptxas(name):
    triton = pytest.importorskip("triton")
    found = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name
    if not found.exists():
        pytest.skip(f"this Triton has no {name}")
    return str(found)


@pytest.mark.parametrize(
    ("assembler", "target"),
    [("ptxas", "sm_80"), ("ptxas", "sm_90"), ("ptxas-blackwell", "sm_100")],
)
def test_the_ptx_assembles_without_stack_or_spills(tmp_path, assembler, target):
    source = tmp_path / "kernels.ptx"
    source.write_text(PTX + graph_copies.PTX.partition(".address_size 64")[2])
    command = [ptxas(assembler), "-v", "-arch", target, str(source), "-o", str(tmp_path / "out")]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stderr.count("0 bytes stack frame, 0 bytes spill stores") == 3


class Device:
    """Launches of `DeviceKernels` that run in the PTX machine, on memory of its own."""

    def __init__(self, blocks=3, seed=0):
        self.memory = Memory()
        self.kernels = kernels = DeviceKernels.__new__(DeviceKernels)
        kernels._driver = self
        kernels._numbers = itertools.count(1)
        kernels._lock = Lock()
        kernels.blocks = blocks
        kernels._finite, kernels._digest = "kvtrace_finite", "kvtrace_digest"
        kernels._flags = self._new_ring(8, 8)
        kernels._sums = self._new_ring(8, device_kernels._SUMS)
        kernels._control, kernels.reserves = 0, ()
        self._at = BASE
        self._random = random.Random(seed)

    def _new_ring(self, slots, size):
        answers = {8: 0x1000, device_kernels._SUMS: 0x2000}[size]
        self.memory.add(answers, bytes(slots * size))
        self.memory.add(answers + 0x10000, bytes(slots * size))
        return device_kernels._Ring(answers, answers + 0x10000, size, deque(range(slots)))

    def reserve(self):
        self.memory.add(0x40000, bytes(16))
        self.memory.add(RESERVES, bytes(2 * AREA))
        self.kernels._control = 0x40000
        self.kernels.reserves = (Reserve(RESERVES), Reserve(RESERVES + AREA))

    def put(self, array, before=0, dtype=None, lines=1):
        """Put an array somewhere, `before` bytes behind an aligned address, with noise around."""
        content = np.ascontiguousarray(array).tobytes()
        size = -(-(before + len(content)) // 16) * 16
        noise = bytearray(b"\xff" * size)
        noise[before : before + len(content)] = content
        self.memory.add(self._at, bytes(noise))
        piece = Piece(self._at + before, len(content), dtype, lines)
        self._at += size + 4096
        return piece

    def cuLaunchKernel(self, function, x, y, z, threads, _y, _z, shared, stream, pointers, extra):
        parameter = bytes(device_kernels._parameter.from_address(pointers[0]))
        launch = Launch(PTX, function, self.memory, (x, y), threads, parameter)
        launch.run(self._random.shuffle)
        return 0

    def answer(self, answer: Answer):
        """What stands there: (number, flags), or (number, sums)."""
        if isinstance(answer, DigestAnswer):
            place = answer.address
            sums = [self.memory.read(place + 8 * (1 + n), 8) for n in range(answer.count)]
            return self.memory.read(place, 4), sums
        return self.memory.read(answer.address + 4, 4), self.memory.read(answer.address, 4)


@pytest.fixture(autouse=True)
def small_reserve(monkeypatch):
    monkeypatch.setattr(device_kernels, "RESERVE_BYTES", AREA)


def expected(array):
    with np.errstate(all="ignore"):
        numbers = array.astype(np.float64)
    return NAN * bool(np.isnan(numbers).any()) | INFINITE * bool(np.isinf(numbers).any())


def planted(dtype, count, seed):
    """Numbers with, perhaps, a NaN, an infinity, or both; each may stand anywhere."""
    random = np.random.default_rng(seed)
    array = random.normal(size=count).astype(TYPES[dtype])
    for chance, number in ((1, np.nan), (2, np.inf), (2, -np.inf)):
        if seed % 4 & chance and not (np.isinf(number) and dtype == "fp8e4nv"):
            array[random.integers(count)] = number
    return array


@pytest.mark.parametrize("dtype", FORMATS)
def test_flags_are_right_for_every_bit_pattern_of_a_type(dtype):
    bits = np.arange(1 << 8 * min(FORMATS[dtype].bytes, 2), dtype=np.uint64)
    shift = 8 * max(0, FORMATS[dtype].bytes - 2)  # of wider ones: sign, exponent and leading bits
    for low in (0, 1):
        words = (bits << np.uint64(shift)) | np.uint64(low if shift else 0)
        numbers = words.astype(f"u{FORMATS[dtype].bytes}").view(TYPES[dtype])
        for each in np.array_split(numbers, 300):
            assert flags(each.view(np.uint8), dtype) == expected(each)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("seed", some(range(4), 4))
def test_the_device_finds_what_numpy_finds(dtype, seed):
    device = Device(seed=seed)
    size = FORMATS[dtype].bytes
    arrays = [planted(dtype, count, seed + count) for count in (1, 3, 16 // size + 1, 700 + seed)]
    pieces = [
        device.put(array, place * size, dtype)
        for array, place in zip(arrays, (0, 1, (16 - size) // size, 3), strict=True)
    ]
    answer = device.kernels.finite(finite_table(pieces, []), 0)

    number, found = device.answer(answer)
    assert number == answer.number
    assert [found >> 2 * n & 3 for n in range(4)] == [expected(array) for array in arrays]
    assert found == sum(
        flags(array.view(np.uint8), dtype) << 2 * n for n, array in enumerate(arrays)
    )


@pytest.mark.parametrize("dtype", FORMATS)
def test_flags_cover_all_lines_even_if_digests_are_sampled(dtype):
    device, size = Device(), FORMATS[dtype].bytes
    array = np.ones(1000, TYPES[dtype])
    array[128 // size + 1] = np.nan  # in the second line
    piece = device.put(array, 3 * size % 16, dtype, lines=4)
    assert device.answer(device.kernels.finite(finite_table([piece], []), 0)) == (1, NAN)


@pytest.mark.parametrize("op", ["ld.global.v2.b64 {%a, %b}, [16]", "st.global.v2.b64 [16], {1, 2}"])
def test_the_machine_refuses_vectors_that_are_not_aligned(op):
    memory = Memory()
    memory.add(16, bytes(32))
    text = ".entry it()\n{\n    @;\n    ret;\n}\n"
    Launch(text.replace("@", op), "it", memory, (1, 1), 1, b"").run()
    with pytest.raises(AssertionError, match="misaligned"):
        Launch(text.replace("@", op.replace("16", "24")), "it", memory, (1, 1), 1, b"").run()


def test_flags_are_reset_at_reuse_of_a_slot_except_for_graph_nodes():
    device = Device()
    bad = device.put(np.full(5000, np.nan, np.float32), 0, "fp32")
    good = device.put(np.zeros(5000, np.float32), 4, "fp32")
    device.kernels._flags.free = deque([0])
    first = device.kernels.finite(finite_table([bad], []), 0)
    assert device.answer(first) == (1, NAN)
    assert device.kernels.finite(finite_table([good], []), 0) is None  # its slot is not free
    device.kernels.release(first)
    assert device.answer(device.kernels.finite(finite_table([good], []), 0)) == (2, 0)

    device.kernels._flags.free = deque([1])
    node = device.kernels.finite(finite_table([bad], []), 0, captured=True)
    device.kernels.release(node)
    assert device.kernels._flags.free == deque()
    parameter = device.put(np.zeros(8, np.float32), 0, "fp32")
    device.kernels._flags.free = deque([1])
    replayed = device.kernels.finite(finite_table([parameter], []), 0, captured=True)
    assert device.answer(replayed) == (4, NAN)


@pytest.mark.parametrize("lines", [1, 4])
def test_the_device_digests_as_numpy_does_whatever_the_order_of_blocks(lines):
    random = np.random.default_rng(3)
    arrays = [random.integers(0, 256, count, np.uint8) for count in (1, 9, 16, 130, 9001)]
    paddings = (0, 5, 0, 15, 8)
    found = []
    for seed, blocks in ((0, 1), (1, 3)):
        device = Device(blocks, seed)
        pieces = [
            device.put(array, before, lines=lines)
            for array, before in zip(arrays, paddings, strict=True)
        ]
        number, sums = device.answer(device.kernels.digest(digest_table(pieces), 0))
        assert number == 1
        found.append(sums)
    assert found[0] == found[1]
    assert found[0] == [
        digest(array, lines, before) for array, before in zip(arrays, paddings, strict=True)
    ]


def test_digest_depends_on_each_byte_and_its_position():
    memory = np.random.default_rng(1).integers(0, 256, 4096, np.uint8)
    seen = {digest(memory)}
    for place in (0, 7, 8, 4095, 2048):
        for bit in (1, 128):
            memory[place] ^= bit
            seen.add(digest(memory))
            memory[place] ^= bit
    assert len(seen) == 11
    words = memory.view(np.uint64)
    words[[3, 90]] = words[[90, 3]]
    assert digest(memory) not in seen
    assert digest(np.zeros(64, np.uint8)) != digest(np.zeros(80, np.uint8))


@pytest.mark.parametrize("bit", [63, 31, 0, 20])
def test_digest_changes_for_any_two_flipped_bits(bit):
    memory = np.random.default_rng(7).normal(size=4096)
    words = memory.view(np.uint64)
    before, changes = digest(memory.view(np.uint8)), []
    for place in range(2048):
        words[place] ^= np.uint64(1 << bit)
        changes.append((digest(memory.view(np.uint8)) - before) % (1 << 64))
        words[place] ^= np.uint64(1 << bit)
    undone = {-change % (1 << 64) for change in changes}
    assert len(set(changes) | undone) == 2 * len(changes)


def test_sampled_digest_depends_on_one_line_in_n():
    memory = np.zeros(128 * 8, np.uint8)
    before = digest(memory, 4)
    memory[128] = 1
    assert digest(memory, 4) == before
    memory[128 * 4] = 1
    assert digest(memory, 4) != before


# -- the reserves -------------------------------------------------------------------------------


def numbers(*special, count=300):
    array = np.ones(count, np.float32)
    array[: len(special)] = special
    return array


def kept(device, written, read, keep=(True, True)):
    pieces = [device.put(array, 4, "fp32") for array in written]
    inputs = [device.put(array, 8, "fp32") for array in read]
    answer = device.kernels.finite(finite_table(pieces, inputs), 0, keep=keep)
    found = device.answer(answer)[1]
    return next((kind for kind, bit in enumerate(KEPT) if found & bit), None), answer


def test_only_the_first_launch_that_makes_a_new_nan_is_recorded():
    device = Device()
    device.reserve()
    fine, bad, infinite = numbers(), numbers(np.nan), numbers(-np.inf)
    assert kept(device, [fine], [fine])[0] is None
    assert kept(device, [bad], [bad])[0] is None  # it came with a NaN
    kind, answer = kept(device, [fine, bad], [infinite, fine])
    assert kind == 0
    contents = [fine, bad, infinite, fine]
    for array, place, before in zip(contents, answer.offsets, (4, 4, 8, 8), strict=True):
        held = device.memory.bytes(RESERVES + place + before, array.nbytes)
        assert held == array.tobytes()
    assert kept(device, [bad], [numbers(2.0)])[0] is None  # it is not free
    device.kernels.free(0)
    assert kept(device, [bad], [numbers(3.0)], keep=(False, True))[0] is None
    assert kept(device, [bad], [numbers(4.0)], keep=(True, False))[0] == 0


def test_infinities_have_a_separate_reserve_and_are_stored_for_finite_inputs():
    device = Device()
    device.reserve()
    assert kept(device, [numbers(np.inf)], [numbers(1, -np.inf)])[0] is None
    assert kept(device, [numbers(np.inf)], [numbers(np.nan)])[0] is None
    assert kept(device, [numbers(np.inf)], [numbers()])[0] == 1
    assert kept(device, [numbers(np.nan)], [numbers()])[0] == 0


def test_integer_inputs_are_recorded_without_flags():
    device = Device()
    device.reserve()
    index = device.put(np.full(40, -1, np.int32), 0, None)
    bad = device.put(numbers(np.nan), 0, "fp32")
    answer = device.kernels.finite(finite_table([bad], [index]), 0)
    assert device.answer(answer)[1] == NAN | KEPT[0]


def test_a_nan_with_inputs_too_large_for_the_reserve_is_flagged_only():
    device = Device()
    device.reserve()
    kind, answer = kept(device, [numbers(np.nan)], [numbers(count=AREA // 4)])
    assert kind is None
    assert device.answer(answer)[1] == NAN


def test_a_graph_node_reports_at_each_replay_that_its_memory_was_stored():
    device = Device()
    device.reserve()
    bad, fine = device.put(numbers(np.nan), 0, "fp32"), device.put(numbers(), 0, "fp32")
    device.kernels._flags.free = deque([2])
    answer = device.kernels.finite(finite_table([bad], [fine]), 0, captured=True)
    assert device.answer(answer)[1] == NAN | KEPT[0]
    device.kernels.free(0)
    device.kernels._flags.free = deque([2])  # once more, with the turn that it began with
    assert (
        device.answer(device.kernels.finite(finite_table([fine], [fine]), 0, True))[1]
        == NAN | KEPT[0]
    )


def test_attempts_to_store_a_launch_in_a_reserve_are_limited():
    device = Device()
    device.reserve()
    device.memory.write(0x40004, 4, ATTEMPTS)  # so often there was a NaN in the inputs
    for _ in range(2):
        assert kept(device, [numbers(np.nan)], [numbers()])[0] is None


def test_table_rows_fit_into_the_kernel_parameter():
    assert len(device_kernels._table_row(Piece(16, 16), 0)) == device_kernels.ROW
    assert device_kernels._head.size <= device_kernels.HEAD
    assert THREADS % 32 == 0

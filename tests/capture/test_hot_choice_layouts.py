"""Layouts of other projects' objects: what C reads, and what goes on where they differ."""

import gc
from shutil import which

import pytest
import torch

from kvtrace.backends.cupti import frames
from kvtrace.capture import hot_choice
from kvtrace.schema.errors import RecordingUnavailable
from tests.capture.recorders import Adapter, Kernel, _hot, recorder_of, rows
from tests.support.native_build import compiled_module

HOT = "kvtrace/capture/_hot.c"
NATIVE = (
    HOT,
    "kvtrace/backends/cupti/_buffers.c",
    "kvtrace/backends/cupti/_requests.c",
)
NAMED = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6}


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int64, torch.float16,
                                   torch.bfloat16, torch.float64, torch.complex64])  # fmt: skip
@pytest.mark.parametrize("shape", [(), (7,), (2, 3, 5), (1, 2, 1, 3, 1, 2, 2), (0, 3)])
def test_tensors_are_read_as_torch_has_them(dtype, shape):
    tensor = torch.zeros(*(shape or (1,)), dtype=dtype)
    tensor = tensor.transpose(0, -1) if shape else tensor[0]

    address, device, code, bits, lanes, sizes, strides = recorder_of().reads(tensor)

    name = str(dtype).removeprefix("torch.").rstrip("0123456789")
    assert (address, device) == (tensor.data_ptr(), 1)
    assert (code, bits, lanes) == (NAMED[name], 8 * tensor.element_size(), 1)
    assert (sizes, strides) == (tuple(tensor.shape), tensor.stride())


def test_what_is_no_tensor_is_refused():
    with pytest.raises((RuntimeError, TypeError)):
        recorder_of().reads(3)


def test_this_torch_and_this_python_are_recorded():
    recorder = hot_choice.make_recorder(lambda value: None, pytest.fail, 10)
    assert isinstance(recorder, _hot.Recorder)


def test_a_mode_of_the_program_sees_no_operator_of_the_recorder():
    debug_mode = pytest.importorskip("torch.utils._debug_mode")
    with debug_mode.DebugMode() as mode:
        hot_choice.make_recorder(lambda value: None, pytest.fail, 10)
        torch.ones(3)
    assert [str(call.op) for call in mode.logs] == ["aten.ones.default"]


def launched(recorder):
    """The rows of some launches."""
    memory, adapter, kernel = torch.zeros(64), Adapter(), Kernel()
    for args in [
        (memory, 3),
        (memory[16:], 3),
        (memory, 3),
        (memory[:32], memory[16:]),
        ("x", 2.5),
    ]:
        recorder.record(adapter, None, kernel, (4, 2), args, {"BLOCK": 16}, 1, 2)
    return rows(recorder).tolist()


@pytest.fixture
def built_with(tmp_path, request):
    """A function that compiles a file with another text in `_layouts.h`."""
    if which("gcc") is None:
        pytest.skip("another layout is compiled with gcc")
    return lambda source, text, other: compiled_module(source, tmp_path, layouts=(text, other))


@pytest.mark.process
@pytest.mark.costly("compiles the hot path")
class TestAnotherLayout:
    def test_of_tensors_is_not_recorded(self, built_with, monkeypatch):
        fields = ("  void *data;\n  dl_device device;\n", "  dl_device device;\n  void *data;\n")
        other = built_with(HOT, *fields)
        monkeypatch.setattr(hot_choice, "compiled_part", lambda: other)

        with pytest.raises(RecordingUnavailable, match="lays them out in another way") as told:
            hot_choice.make_recorder(lambda value: None, pytest.fail, 10)

        assert torch.__version__ in str(told.value)
        assert "look for a newer kvtrace" in str(told.value)

    @pytest.mark.parametrize("source", NATIVE)
    def test_of_objects_refuses_the_import(self, source, built_with):
        with pytest.raises(ImportError, match="lays its objects out in another way"):
            built_with(source, "OBJECT_BYTES = sizeof(PyObject)", "OBJECT_BYTES = 24")

    def test_of_the_collector_leaves_its_counts_alone(self, built_with):
        other = built_with(
            HOT, "{{23, 13, 2}, {22, 13, 5}, {15, 6, 3}}", "{{25, 15, 2}, {20, 11, 5}, {17, 8, 3}}"
        )
        assert not other.find_collector(gc)
        other.begin_uncounted()
        other.end_uncounted()
        assert other.old_objects() is None
        assert launched(recorder_of(make=other.Recorder)) == launched(recorder_of())

    def test_of_frames_leaves_stacks_out(self, built_with):
        other = built_with(NATIVE[2], "TYPE_OFFSET = sizeof(Py_ssize_t)", "TYPE_OFFSET = 0")
        with pytest.raises(frames.FramesUnknown, match="differ from Python's own"):
            frames.find_frame_offsets(other)

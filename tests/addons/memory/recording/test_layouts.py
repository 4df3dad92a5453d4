"""Offsets of torch's fields: found in the installed torch, and refused where anything differs."""

import subprocess
import sys
import threading
from pathlib import Path
from shutil import which
from types import SimpleNamespace

import pytest

from kvtrace.addons.memory.recording import layouts
from kvtrace.addons.memory.recording.layouts import TorchUnknown, install
from kvtrace.addons.memory.recording.operator_rows import unique_calls
from tests.support.native_build import compiled_module

torch = pytest.importorskip("torch")
native = pytest.importorskip("kvtrace.addons.memory.recording._operators")

SOURCE = "kvtrace/addons/memory/recording/_operators.c"
HEADER = Path("include") / "ATen" / "record_function.h"


@pytest.fixture
def installed():
    """torch's callbacks, recording, and removed at the end."""
    native.forget()
    found = install(native, torch)
    native.record_calls(True)
    yield found
    native.record_calls(False)
    found.remove(found.handle)
    native.forget()


def names():
    """The names of the unique calls since this was last called."""
    return [call.name for call in unique_calls(native.take(False)[1])]


def other_torch(folder, change):
    """A folder of torch with a changed header and without libraries."""
    header = folder / HEADER
    header.parent.mkdir(parents=True)
    text = (Path(torch.__file__).parent / HEADER).read_text(encoding="utf-8")
    header.write_text(change(text), encoding="utf-8")
    return SimpleNamespace(__file__=str(folder / "__init__.py"), __version__="9.9")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("double sampling_prob_", "float sampling_prob_"), "another"),
        (lambda text: text.replace("  bool needs_inputs_ = false;\n", "", 1), "another"),
        (lambda text: text.replace("FUNCTION = 0", "FIRST = 0"), "other scopes"),
        (lambda text: text, "torch's functions were not found"),
    ],
)
def test_a_torch_that_differs_is_refused(change, said, tmp_path):
    with pytest.raises(TorchUnknown, match=said):
        install(native, other_torch(tmp_path, change))

    torch.ones(3)
    assert names() == []


@pytest.mark.process
@pytest.mark.costly("compiles the extension")
@pytest.mark.skipif(which("gcc") is None, reason="another layout is compiled with gcc")
@pytest.mark.parametrize(
    ("text", "other", "raised", "said"),
    [
        (
            "INLINE_DIMENSIONS = 5",
            "INLINE_DIMENSIONS = 4",
            TorchUnknown,
            "a tensor's sizes was found at 0",
        ),
        (
            "VALUE_BYTES = 16",
            "VALUE_BYTES = 24",
            TorchUnknown,
            "of an operator's call were not found",
        ),
        (
            "CXX_STRING = 32",
            "CXX_STRING = 40",
            TorchUnknown,
            "of an operator's call were not found",
        ),
        (
            "OBJECT_BYTES = sizeof(PyObject)",
            "OBJECT_BYTES = 24",
            ImportError,
            "lays its objects out",
        ),
    ],
)
def test_another_layout_leaves_operators_out(text, other, raised, said, tmp_path):
    with pytest.raises(raised, match=said):
        install(compiled_module(SOURCE, tmp_path, layouts=(text, other)), torch)

    torch.ones(3)
    assert names() == []


def test_a_torch_without_its_header_is_refused(tmp_path):
    with pytest.raises(TorchUnknown, match="cannot be read"):
        install(native, SimpleNamespace(__file__=str(tmp_path / "__init__.py"), __version__="9"))


def test_a_failing_search_leaves_no_callbacks(monkeypatch):
    def fails(*_):
        raise TorchUnknown("not found")

    native.forget()
    monkeypatch.setattr(layouts, "_list_offset", fails)
    with pytest.raises(TorchUnknown, match="not found"):
        install(native, torch)

    native.record_calls(True)
    torch.ones(3)
    native.record_calls(False)
    assert names() == []


def test_element_types_have_torchs_numbers(installed):
    assert installed.dtypes[6] == "float32"
    assert installed.dtypes[15] == "bfloat16"
    assert len(set(installed.dtypes.values())) == len(installed.dtypes)


def test_tensors_of_many_dimensions_and_offsets_are_read(installed):
    base = torch.zeros(512, dtype=torch.float64)
    native.take(False)
    base.as_strided((2, 1, 2, 3, 1, 2, 2), (96, 96, 48, 16, 8, 4, 1), 5).neg_()

    calls = {call.name: call for call in unique_calls(native.take(False)[1])}
    words = calls["aten::neg_"].words
    assert words[1] >> 8 == 7
    assert words[3] == 5 * 8
    assert words[4] == 512 * 8
    assert words[5:19] == (2, 1, 2, 3, 1, 2, 2, 96, 96, 48, 16, 8, 4, 1)


def test_tensors_without_memory_are_left_out_and_hide_nothing(installed):
    from torch._subclasses.fake_tensor import FakeTensorMode

    native.take(False)
    torch.empty(3, device="meta").add_(1)
    with FakeTensorMode():
        torch.ones(3).mul(2)
    assert "aten::mul" not in names()

    torch.ones(2).to_sparse().coalesce()
    torch.ones(0).neg()
    assert "aten::neg" in names()


class Wrapped(torch.Tensor):
    """A tensor without memory around another, as distributed tensors are."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        inner = [value.inner if isinstance(value, Wrapped) else value for value in args]
        return cls(function(*inner, **(kwargs or {})))


def test_an_operator_on_a_wrapper_is_recorded_as_that_of_its_tensor(installed):
    inner = torch.ones(3)
    native.take(False)

    Wrapped(inner).sin()

    _, operators, operations, *_ = native.take(False)
    calls = [call.name for call in unique_calls(operators)]
    assert calls == ["aten::sin"]
    assert inner.data_ptr() in memoryview(operations[-1]).cast("q").tolist()


def test_operators_of_transformed_and_sparse_tensors_are_those_of_their_parts(installed):
    values = torch.ones(3, 2)
    sparse = torch.eye(3).to_sparse()
    native.take(False)

    torch.func.vmap(torch.func.grad(lambda row: (row * row).sum()))(values)
    assert {"aten::mul", "aten::sum"} <= set(names())
    sparse.neg()
    assert "aten::neg_" in names()  # of the values


def test_lists_with_missing_tensors_are_read(installed):
    x = torch.zeros(2, 3)
    native.take(False)

    torch.ops.aten.index(x, [None, torch.tensor([1])])

    calls = {call.name: call for call in unique_calls(native.take(False)[1])}
    places = [calls["aten::index"].words[n] for n in (0, 9)]
    assert [(place & 0xFFFFFFFF, place >> 32) for place in places] == [(0, 0x3FFFFFFF), (1, 1)]


def test_calls_of_threads_at_once_are_all_recorded(installed):
    native.take(False)

    def work():
        value = torch.zeros(2)
        for _ in range(2000):
            value.neg_()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    _, operators, operations, _, lost, _ = native.take(False)
    calls = [call.name for call in unique_calls(operators)]
    numbers = memoryview(operations[0]).cast("q").tolist()
    assert lost == 0
    assert numbers.count(calls.index("aten::neg_")) == 8000
    assert len(set(memoryview(operations[3]).cast("q"))) == 4


@pytest.mark.costly("a million calls of an operator")
def test_more_calls_than_there_is_room_for_are_counted(installed):
    value = torch.zeros(1)
    native.take(False)
    for _ in range((1 << 20) + 10):
        value.neg_()

    _, _, operations, _, lost, _ = native.take(False)
    assert (len(operations[0]) // 8, lost) == (1 << 20, 10)


@pytest.mark.process
def test_no_warning_of_torch_is_used_up():
    code = (
        "import torch\n"
        "from kvtrace.addons.memory.recording import _operators, layouts\n"
        "layouts.install(_operators, torch)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")

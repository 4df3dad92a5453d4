"""A known call enters no Python function of kvtrace's, whoever launches it."""

import contextlib
import ctypes
import importlib.util
import inspect
import sys
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest
import torch
import triton
from triton.runtime.driver import driver as configuration

import kvtrace
from corpus.kernels import index_kernels as kernels
from kvtrace.backends.inductor.generated_kernels import STATIC_LAUNCHERS
from kvtrace.capture import hot_choice
from kvtrace.schema.contents import contents_of
from kvtrace.schema.trace import open_trace
from tests.support.idle_driver import IdleDriver
from tests.support.imported_file import imported_file

pytestmark = pytest.mark.process


COUNT = 1000
OTHERS = (kernels.gather.device_caches, kernels.tuned_gather.fn.device_caches)
OURS = str(Path(kvtrace.__file__).parent)

GENERATED = """
import triton
import triton.language as tl

@triton.jit
def gathered({chosen}, {source}, {result}, xnumel, XBLOCK: tl.constexpr):
    lanes = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    inside = lanes < xnumel
    indices = tl.load({chosen} + lanes, inside)
    tl.store({result} + lanes, tl.load({source} + indices, inside), inside)
"""


def heuristics():
    """Inductor's module, which a process that runs none of these tests need not import."""
    return pytest.importorskip("torch._inductor.runtime.triton_heuristics")


@pytest.fixture(params=["launch", "timeline"])
def recording(request, tmp_path, monkeypatch):
    """Records with all settings' defaults, on a driver that does nothing."""
    monkeypatch.setattr(configuration, "_active", IdleDriver())
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    # What other tests have compiled has the launchers of another driver, and the other way round;
    # an autotuner keeps how its driver measures, too.
    for caches in OTHERS:
        caches.clear()
    kernels.tuned_gather.__dict__.pop("do_bench", None)
    kernels.tuned_gather.cache.clear()
    with kvtrace.capture(tmp_path / "out", mode=request.param) as session:
        yield session
    for caches in OTHERS:
        caches.clear()
    kernels.tuned_gather.__dict__.pop("do_bench", None)
    kernels.tuned_gather.cache.clear()


class Entered:
    """The functions of kvtrace's that the thread enters while it is used as a context."""

    def __init__(self):
        self.functions = []

    def hear(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.functions.append(frame.f_code.co_qualname)

    def __enter__(self):
        sys.setprofile(self.hear)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


def entered_by_later(launch, change):
    """Launch often; return what the second launch enters, and one with other contents."""
    launch()
    with Entered() as second:
        launch()
    change()
    with Entered() as changed:
        launch()
    return second.functions + changed.functions


@pytest.fixture
def tensors():
    return torch.randn(COUNT), torch.arange(COUNT), torch.zeros(COUNT)


def launcher_of(name, source, chosen, result):
    """A launch of a gather, by ways of Triton's."""
    if name == "jit":
        return lambda: kernels.gather[(4,)](source, chosen, result, COUNT, BLOCK=256)
    if name == "callable grid":
        return lambda: kernels.gather[lambda meta: (triton.cdiv(COUNT, meta["BLOCK"]),)](
            source, chosen, result, COUNT, BLOCK=256
        )
    if name == "keywords":
        return lambda: kernels.gather[(4,)](
            source, chosen=chosen, result=result, count=COUNT, BLOCK=256, num_warps=8
        )
    if name == "autotune":
        return lambda: kernels.tuned_gather[(4,)](source, chosen, result, COUNT)
    compiled = kernels.gather[(4,)](source, chosen, result, COUNT, BLOCK=256)
    return lambda: compiled[(4, 1, 1)](source, chosen, result, COUNT, 256)


@pytest.mark.parametrize("way", ["jit", "callable grid", "keywords", "autotune", "compiled"])
def test_known_launches_by_triton_call_no_python_code(recording, tensors, way, tmp_path):
    launch = launcher_of(way, *tensors)
    assert entered_by_later(launch, lambda: tensors[1].fill_(7)) == []
    recording.flush()
    assert wanted_contents(tmp_path / "out", tensors[1]) == [True] * 3


def wanted_contents(out, now):
    """Return whether indices of the last three launches were recorded: the first two, the last."""
    kvtrace.stop()
    trace = open_trace(out)
    run = trace.runs[0]
    seqs = trace.table("launches", columns=["seq"])["seq"].to_pylist()[-3:]
    found = {
        seq: {trace.artifact(each.artifact) for each in one.held}
        for call in contents_of(trace, run).values()
        for one in call.sets
        for seq in one.launches
    }
    before = torch.arange(COUNT).numpy().tobytes()
    wanted = (before, before, now.numpy().tobytes())
    return [held in found.get(seq, ()) for seq, held in zip(seqs, wanted, strict=True)]


@pytest.fixture
def autotuner(tmp_path, monkeypatch):
    """Makes an autotuner of Inductor's, with parameters named so, for an H100 that is not there."""
    from torch._inductor.runtime import triton_helpers
    from torch._inductor.runtime.hints import DeviceProperties

    interface = SimpleNamespace(
        synchronize=lambda *_: None,
        device=lambda *_: contextlib.nullcontext(),
        exchange_device=lambda _index: 0,
        maybe_exchange_device=lambda _index: 0,
        current_device=lambda: 0,
    )
    monkeypatch.setattr(triton_helpers, "set_driver_to_gpu", lambda: None)
    monkeypatch.setattr(
        heuristics().CachingAutotuner, "get_device_interface", lambda _self: interface
    )
    device = DeviceProperties(
        type="cuda", index=0, multi_processor_count=132, cc=90, major=9, warp_size=32
    )

    def make(names, heuristic, configs=1):
        path = tmp_path / "generated.py"
        path.write_text(
            GENERATED.format(**dict(zip(("chosen", "source", "result"), names, strict=True)))
        )
        module = imported_file(path, "generated")
        kinds = ("*i64", "*fp32", "*fp32", "i32", "constexpr")
        return heuristics().CachingAutotuner(
            fn=module.gathered,
            triton_meta={
                "signature": dict(zip((*names, "xnumel", "XBLOCK"), kinds, strict=True)),
                "device": device,
                "device_type": "cuda",
                "constants": {},
                "configs": [{(0,): [["tt.divisibility", 16]], (2,): [["tt.divisibility", 16]]}],
            },
            configs=[
                triton.Config({"XBLOCK": 128 << n}, num_warps=4, num_stages=1)
                for n in range(configs)
            ],
            save_cache_hook=None,
            mutated_arg_names=[],
            optimize_mem=True,
            heuristic_type=heuristic,
            inductor_meta={"grid_type": "Grid1D", "kernel_name": "gathered"},
            filename=str(path),
        )

    return make


INDUCTORS = ("in_ptr0", "in_ptr1", "out_ptr0")
USERS = ("chosen", "source", "result")


@pytest.mark.parametrize("names", [INDUCTORS, USERS], ids=["inductor's", "user's"])
@pytest.mark.parametrize("bound", [False, True])
def test_known_launches_by_inductor_call_no_python_code(
    recording, autotuner, tensors, names, bound, tmp_path
):
    kind = heuristics().HeuristicType
    made = autotuner(names, kind.POINTWISE if names is INDUCTORS else kind.USER_AUTOTUNE)
    source, chosen, result = tensors
    run = made.run

    def launch():
        if bound:
            run(chosen, source, result, COUNT, stream=0)
        else:
            made.run(chosen, source, result, COUNT, stream=0)

    with torch._inductor.config.patch(use_static_cuda_launcher=False):
        launch()
        run = made.run
        assert entered_by_later(launch, lambda: chosen.fill_(7)) == []
    assert wanted_contents(tmp_path / "out", chosen) == [True] * 3


def static_launchers_keep_module() -> bool:
    """Return whether torch's static launchers keep the module that they load: newer ones do."""
    name = next(name for name in STATIC_LAUNCHERS if importlib.util.find_spec(name))
    kernel = importlib.import_module(name).StaticallyLaunchedCudaKernel
    return "module" in inspect.unwrap(kernel.load_kernel).__code__.co_names


class StaticLauncher:
    """Takes what Inductor's static launchers launch, and does nothing."""

    launches = 0

    @staticmethod
    def _load_kernel(*_):
        loaded = 1, 1, 32, 0
        return loaded if static_launchers_keep_module() else loaded[1:]

    @classmethod
    def _launch_kernel(cls, *_):
        cls.launches += 1

    @staticmethod
    def _unload_kernel(*_):
        return


class FastLauncher:
    """Takes the place of `StaticLauncher._launch_kernel` from the second launch on, in 2.15."""

    def __init__(self, *_):
        return

    def __call__(self, *_):
        StaticLauncher.launches += 1


def test_known_launches_by_the_static_launcher_call_no_python_code(
    recording, autotuner, tensors, monkeypatch, tmp_path
):
    monkeypatch.setattr(torch._C, "_StaticCudaLauncher", StaticLauncher, raising=False)
    monkeypatch.setattr(torch._C, "_FastCudaLauncher", FastLauncher, raising=False)
    monkeypatch.setattr(StaticLauncher, "launches", 0)
    made = autotuner(INDUCTORS, heuristics().HeuristicType.POINTWISE)
    source, chosen, result = tensors

    def launch():
        made.run(chosen, source, result, COUNT, stream=0)

    with torch._inductor.config.patch(use_static_cuda_launcher=True):
        assert entered_by_later(launch, lambda: chosen.fill_(7)) == []
    assert made.launchers[0]._is_static
    assert StaticLauncher.launches == 3
    assert wanted_contents(tmp_path / "out", chosen) == [True] * 3


@pytest.fixture
def capturing(monkeypatch):
    """Every stream but the default one is captured into graph 3, as far as the driver says."""
    pointer = ctypes.c_void_p

    def answer(_stream, status, number, *_nulls):
        ctypes.c_int.from_address(status).value = 1
        ctypes.c_uint64.from_address(number).value = 3
        return 0

    query = ctypes.CFUNCTYPE(ctypes.c_int, *(pointer,) * 6)(answer)
    address = ctypes.cast(query, pointer).value
    monkeypatch.setattr(hot_choice, "_capture_query", lambda _torch: address)
    yield
    del query


def test_known_launches_into_a_graph_call_no_python_code(
    capturing, recording, autotuner, tensors, tmp_path
):
    made = autotuner(INDUCTORS, heuristics().HeuristicType.POINTWISE)
    source, chosen, result = tensors
    with torch._inductor.config.patch(use_static_cuda_launcher=False):
        made.run(chosen, source, result, COUNT, stream=0)

        def launch():
            made.run(chosen, source, result, COUNT, stream=5)

        assert entered_by_later(launch, lambda: chosen.fill_(7)) == []
    kvtrace.stop()
    phases = open_trace(tmp_path / "out").table("launches", columns=["phase"])["phase"]
    assert phases.to_pylist() == ["run", *["graph_capture"] * 3]

"""Kernels whose `kernel[grid]` launches past `run` once they are known, as a fork of Triton's does.

The stand-in goes by what facebookexperimental/triton does (`python/triton/runtime/jit.py`,
`c_cache=True`): the object that `kernel[grid]` gives keeps the compiled kernel of its first launch,
which passes `run`, and launches it by itself from then on. There it is of C.
"""

from typing import Any

import pytest

import kvtrace
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

pytestmark = pytest.mark.process

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = triton.language
JITFunction = triton.runtime.jit.JITFunction


class Proxy:
    """Launches a kernel on a grid; known launches without Python's help."""

    def __init__(self, function: Any, grid: tuple[int, ...]) -> None:
        self.function = function
        self.grid = grid
        self.compiled: Any = None

    def __call__(self, *args: Any) -> Any:
        if self.compiled is None:
            self.compiled = self.function.run(*args, grid=self.grid, warmup=False)
            return self.compiled
        kernel, grid = self.compiled, (*self.grid, 1, 1)[:3]
        driver = triton.runtime.driver.active
        stream = driver.get_current_stream(driver.get_current_device())
        kernel.run(*grid, stream, kernel.function, kernel.packed_metadata, None, None, None, *args)
        return kernel


@pytest.fixture
def dispatched() -> Any:
    """Make the class of such a fork's kernels; afterwards it is as Triton's own."""

    class Dispatched(JITFunction):
        def __getitem__(self, grid: Any) -> Any:
            proxies = self.__dict__.setdefault("_proxies", {})
            if grid not in proxies:
                proxies[grid] = Proxy(self, grid)
            return proxies[grid]

    yield Dispatched
    for each in (Dispatched, *Dispatched.__subclasses__()):
        del each.__getitem__


def add_one(x, out, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + index, tl.load(x + index, mask=index < size) + 1, mask=index < size)


def launch(kernel: Any, times: int) -> None:
    for start in range(times):
        x = torch.arange(100.0) + start
        out = torch.empty(100)
        kernel[(2,)](x, out, 100, 64)
        assert torch.equal(out, x + 1)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))


def test_all_their_launches_are_recorded_and_a_line_says_how(
    dispatched: Any, tmp_path: Any
) -> None:
    with kvtrace.capture(tmp_path / "out"):
        launch(dispatched(add_one), 4)
    trace = open_trace(tmp_path / "out")
    assert trace.table("launches").num_rows == 4
    (said,) = [
        row["text"]
        for row in plain_rows(trace.table("messages"))
        if row["code"] == "launches-past-run"
    ]
    assert said == "kernel[grid] of Dispatched may pass by run; while recorded, it calls it"


def test_a_class_that_is_made_while_a_session_records_is_seen_from_its_first_launch_on(
    dispatched: Any,
    tmp_path: Any,
) -> None:
    with kvtrace.capture(tmp_path / "out"):

        class Later(dispatched):
            def __getitem__(self, grid: Any) -> Any:
                return super().__getitem__(grid)

        launch(Later(add_one), 3)
    assert open_trace(tmp_path / "out").table("launches").num_rows == 3


def test_afterwards_the_fork_has_its_own_way_again(dispatched: Any, tmp_path: Any) -> None:
    own, hooks = dispatched.__getitem__, list(triton.knobs.runtime.launch_enter_hook.calls)
    kernel = dispatched(add_one)
    with kvtrace.capture(tmp_path / "out"):
        assert dispatched.__getitem__ is not own
        launch(kernel, 2)
    assert dispatched.__getitem__ is own
    assert triton.knobs.runtime.launch_enter_hook.calls == hooks
    assert isinstance(kernel[(2,)], Proxy)


def test_triton_s_own_launches_are_left_as_they_are(tmp_path: Any) -> None:
    own, hooks = JITFunction.__getitem__, list(triton.knobs.runtime.launch_enter_hook.calls)
    with kvtrace.capture(tmp_path / "out"):
        launch(triton.jit(add_one), 2)
        assert JITFunction.__getitem__ is own
    assert open_trace(tmp_path / "out").table("launches").num_rows == 2
    assert triton.knobs.runtime.launch_enter_hook.calls == hooks

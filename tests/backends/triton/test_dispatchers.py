"""Kernels whose `kernel[grid]` launches past `run` once they are known, as a fork of Triton's does.

The stand-ins go by what facebookexperimental/triton does (`python/triton/runtime/jit.py`,
`c_cache=True`): the object that `kernel[grid]` gives keeps the compiled kernel of its first launch,
which passes `run`, and launches it by itself from then on. There it is of C.
"""

import functools
from collections.abc import Iterator
from typing import Any

import pytest

import kvtrace
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

pytestmark = pytest.mark.process

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = triton.language
JITFunction, KernelInterface = triton.runtime.jit.JITFunction, triton.runtime.jit.KernelInterface
Autotuner = triton.runtime.autotuner.Autotuner


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
def fork_class() -> Any:
    """Make the class of such a fork's kernels; afterwards it is as Triton's own."""

    class Dispatched(JITFunction):
        def __getitem__(self, grid: Any) -> Any:
            proxies = self.__dict__.setdefault("_proxies", {})
            if grid not in proxies:
                proxies[grid] = Proxy(self, grid)
            return proxies[grid]

    yield Dispatched
    for kernel_class in (Dispatched, *Dispatched.__subclasses__()):
        del kernel_class.__getitem__


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


def test_all_launches_from_c_are_recorded_and_reported_in_one_message(
    fork_class: Any, tmp_path: Any
) -> None:
    with kvtrace.capture(tmp_path / "out"):
        launch(fork_class(add_one), 4)
    trace = open_trace(tmp_path / "out")
    assert trace.table("launches").num_rows == 4
    (message,) = [
        row["text"]
        for row in plain_rows(trace.table("messages"))
        if row["code"] == "launches-past-run"
    ]
    assert message.startswith(
        "kernel[grid] of Dispatched launches from C, without run; a recording"
    )


def test_kernel_class_made_during_a_recording_is_hooked_at_its_first_launch(
    fork_class: Any,
    tmp_path: Any,
) -> None:
    with kvtrace.capture(tmp_path / "out"):

        class Later(fork_class):
            def __getitem__(self, grid: Any) -> Any:
                return super().__getitem__(grid)

        launch(Later(add_one), 3)
    assert open_trace(tmp_path / "out").table("launches").num_rows == 3


def test_after_the_recording_the_fork_launches_from_c_again(fork_class: Any, tmp_path: Any) -> None:
    original, hooks = fork_class.__getitem__, list(triton.knobs.runtime.launch_enter_hook.calls)
    kernel = fork_class(add_one)
    with kvtrace.capture(tmp_path / "out"):
        assert fork_class.__getitem__ is not original
        launch(kernel, 2)
    assert fork_class.__getitem__ is original
    assert triton.knobs.runtime.launch_enter_hook.calls == hooks
    assert isinstance(kernel[(2,)], Proxy)


def test_kernel_classes_of_triton_itself_are_not_hooked(tmp_path: Any) -> None:
    original, hooks = JITFunction.__getitem__, list(triton.knobs.runtime.launch_enter_hook.calls)
    with kvtrace.capture(tmp_path / "out"):
        launch(triton.jit(add_one), 2)
        assert JITFunction.__getitem__ is original
    assert open_trace(tmp_path / "out").table("launches").num_rows == 2
    assert triton.knobs.runtime.launch_enter_hook.calls == hooks


class Fork:
    """Triton with the fork's ways: known launches are made by a dispatcher, if nobody listens."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.dispatched = 0
        self._run, self._tune = JITFunction.run, Autotuner.run
        self._known: dict[Any, Any] = {}
        patch.setattr(JITFunction, "run", self._fast_run)
        patch.setattr(KernelInterface, "__getitem__", self._proxy)
        patch.setattr(Autotuner, "__getitem__", self._tuned_proxy, raising=False)

    @property
    def _fast_run(self) -> Any:
        fork = self

        def run(kernel: Any, *args: Any, grid: Any, warmup: Any, **kwargs: Any) -> Any:
            if warmup or kwargs or triton.knobs.runtime.launch_enter_hook.calls:
                return fork._run(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            return fork.dispatch(kernel, grid, *args)

        return run

    @property
    def _proxy(self) -> Any:
        fork = self

        def __getitem__(kernel: Any, grid: Any) -> Any:
            if callable(grid) or triton.knobs.runtime.launch_enter_hook.calls:
                return lambda *args, **kwargs: kernel.run(*args, grid=grid, warmup=False, **kwargs)
            return functools.partial(fork.dispatch, kernel, grid)  # an object of C

        return __getitem__

    @property
    def _tuned_proxy(self) -> Any:
        fork = self

        def __getitem__(tuner: Any, grid: Any) -> Any:
            def launch(*args: Any) -> Any:
                if not hasattr(tuner, "best_config"):
                    return tuner.run(*args, grid=grid, warmup=False)
                return fork.dispatch(tuner.fn, grid, *args, *tuner.best_config.kwargs.values())

            return functools.partial(launch)

        return __getitem__

    def dispatch(self, function: Any, grid: Any, *args: Any) -> Any:
        """Launch a kernel as the fork's C does, with none of Triton's launchers."""
        key = (
            function,
            *(type(argument) if torch.is_tensor(argument) else argument for argument in args),
        )
        if key not in self._known:
            self._known[key] = self._run(function, *args, grid=grid, warmup=True)
            self._known[key]._init_handles()
        self.dispatched += 1
        kernel, driver = self._known[key], triton.runtime.driver.active
        stream = driver.get_current_stream(driver.get_current_device())
        whole_grid = (*grid, 1, 1)[:3]
        kernel._run(
            *whole_grid, stream, kernel.function, kernel.packed_metadata, None, None, None, *args
        )
        return kernel


@pytest.fixture
def fork() -> Iterator[Fork]:
    with pytest.MonkeyPatch.context() as patch:
        yield Fork(patch)


def messages_of(trace: Any) -> list[str]:
    rows = plain_rows(trace.table("messages"))
    return [row["text"] for row in rows if row["code"] == "launches-past-run"]


def test_known_launches_still_go_through_c_without_launch_hooks(fork: Fork, tmp_path: Any) -> None:
    hooks = triton.knobs.runtime.launch_enter_hook
    with kvtrace.capture(tmp_path / "out"):
        before = list(hooks.calls)
        launch(triton.jit(add_one), 4)
        assert hooks.calls == before == []
    trace = open_trace(tmp_path / "out")
    assert trace.table("launches").num_rows == 4
    assert fork.dispatched == 4
    assert {text.partition(" launches from C")[0] for text in messages_of(trace)} == {
        "kernel[grid] of JITFunction", "kernel[grid] of Autotuner",
    }  # fmt: skip
    assert all("which still launches known kernels from C" in text for text in messages_of(trace))


def test_inspected_launches_do_not_go_through_c(fork: Fork, tmp_path: Any) -> None:
    hooks = triton.knobs.runtime.launch_enter_hook
    with kvtrace.capture(tmp_path / "out", tensors="all"):
        launch(triton.jit(add_one), 3)
        assert len(hooks.calls) == 1
    assert hooks.calls == []
    trace = open_trace(tmp_path / "out")
    assert trace.table("launches").num_rows == 3
    assert fork.dispatched == 0
    assert all("Triton's own launcher makes all of them" in text for text in messages_of(trace))
    contents = plain_rows(trace.table("contents"))
    assert {row["arg"] for row in contents} == {0, 1}


def gathered(index, x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + tl.load(index + lanes)))


def test_index_tensors_are_recorded_at_each_calls_first_launch(fork: Fork, tmp_path: Any) -> None:
    kernel = triton.jit(gathered)
    with kvtrace.capture(tmp_path / "out"):
        for size in (64, 128):
            x, index = torch.arange(float(size)), torch.arange(64).flip(0)
            for _ in range(3):
                out = torch.empty(64)
                kernel[(1,)](index, x, out, 64)
                assert torch.equal(out, x[:64].flip(0))
    trace = open_trace(tmp_path / "out")
    assert fork.dispatched == 6
    recorded = {(row["call_id"], row["arg"]) for row in plain_rows(trace.table("contents"))}
    assert recorded == {(0, 0), (1, 0)}


@pytest.mark.usefixtures("fork")
def test_autotuned_kernels_are_recorded_without_launch_hooks(tmp_path: Any) -> None:
    configurations = [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})]
    tuned = triton.autotune(configurations, key=["size"])(triton.jit(add_one))
    with kvtrace.capture(tmp_path / "out"):
        for start in range(3):
            x, out = torch.arange(100.0) + start, torch.empty(100)
            tuned[(2,)](x, out, 100)
            assert torch.equal(out, x + 1)
    phases = open_trace(tmp_path / "out").table("launches")["phase"].to_pylist()
    assert phases == ["run"] * 3


def test_doctor_reports_the_fork_only(fork: Fork) -> None:
    from kvtrace.cli.doctor import _dispatcher_part

    del fork
    (part,) = _dispatcher_part()
    assert part.name == "dispatcher"
    assert "a recording makes it call run" in part.text


def test_doctor_reports_no_dispatcher_for_triton_itself() -> None:
    from kvtrace.cli.doctor import _dispatcher_part

    assert list(_dispatcher_part()) == []

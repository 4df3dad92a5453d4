"""The wrappers of the hot path: the launch gives what it gave, and is recorded once.

On both recorders; `run` is wrapped on plain classes, as of a jitted function and of an autotuner.
"""

import contextlib
import inspect
import sys
import time

import pytest

from kvtrace.capture import hot
from tests.capture.recorders import (
    Adapter,
    Function,
    Kernel,
    calls,
    recorder_of,
    rows,
    wrapped,
)

torch = pytest.importorskip("torch")


def test_a_wrapped_launch_passes_arguments_and_result_unchanged():
    kernel = Kernel()
    with wrapped() as (recorder, adapter):
        function = Function(kernel)
        assert function.run(1, "a", grid=(3, 2), warmup=False, BLOCK=4) is kernel
        assert function.given == [((1, "a"), (3, 2), False, {"BLOCK": 4})]
        assert adapter.calls == [(0, (3, 2, 1), 2, adapter.calls[0][3])]
        assert calls(recorder) == [0]


def test_callable_grid_is_called_once_and_its_result_is_recorded():
    asked = []

    def grid(meta):
        asked.append(meta)
        return (meta["BLOCK"], 5)

    with wrapped() as (_, adapter):
        Function(Kernel()).run(grid=grid, warmup=False, BLOCK=7)
        assert asked == [{"BLOCK": 7}]
        assert adapter.calls[0][1] == (7, 5, 1)


def test_the_callers_keyword_arguments_are_left_alone():
    given = {"grid": lambda meta: (1,), "warmup": False, "BLOCK": 1}
    before = dict(given)
    with wrapped():
        function = Function(Kernel())
        function.run(**given)
        Function.run(function, **given)  # not bound, as another wrapper calls it
    assert given == before
    assert len(function.given) == 2


def test_exceptions_of_a_launch_propagate_and_nothing_is_recorded():
    error = ValueError("the launch's own")
    with wrapped() as (recorder, _):
        with pytest.raises(ValueError, match="the launch's own") as caught:
            Function(error=error).run(grid=(1,), warmup=False)
        assert caught.value is error
        with pytest.raises(TypeError, match="grid"):
            Function(Kernel()).run(1, warmup=False)
        with pytest.raises(ZeroDivisionError):
            Function(Kernel()).run(grid=lambda meta: (1 // 0,), warmup=False)
        assert calls(recorder) == []


def test_warmup_is_not_recorded_as_a_launch():
    kernel = Kernel()
    with wrapped() as (recorder, adapter):
        assert Function(kernel).run(grid=(1,), warmup=True) is kernel
        assert Function(None).run(grid=(1,), warmup=False) is None  # a hook took the launch over
        assert (calls(recorder), adapter.kernels, adapter.calls) == ([], 1, [])
        Function(kernel).run(grid=(1,), warmup=False)
        assert (calls(recorder), adapter.kernels) == ([0], 1)


def test_failures_of_kvtrace_are_reported_and_do_not_reach_the_program():
    class Broken(Adapter):
        def new_call(self, *arguments):
            raise RuntimeError("ours")

    problems = []
    recorder, original, kernel = recorder_of(problems), Function.run, Kernel()
    Function.run = recorder.wrap(original, Broken())
    try:
        assert Function(kernel).run(grid=(1,), warmup=False) is kernel
        assert Function(kernel).run(grid=(), warmup=False) is kernel
        assert Function(kernel).run(grid=("x",), warmup=False) is kernel
    finally:
        Function.run = original
    assert type(problems[0]) is RuntimeError
    assert len(problems) == 3
    assert problems[0].__traceback__ is not None


def test_interrupt_during_recording_reaches_the_program():
    class Interrupted(Adapter):
        def new_call(self, *arguments):
            raise KeyboardInterrupt

    recorder, original = recorder_of(), Function.run
    Function.run = recorder.wrap(original, Interrupted())
    try:
        with pytest.raises(KeyboardInterrupt):
            Function(Kernel()).run(grid=(1,), warmup=False)
    finally:
        Function.run = original


def test_wrapper_has_name_and_docstring_of_the_wrapped_function():
    original = Function.run
    with wrapped():
        assert inspect.unwrap(Function.run) is original
        assert inspect.signature(Function.run) == inspect.signature(original)
        assert Function.run.__name__ == "run"
        assert Function.run.__doc__ == "Launch."
        function = Function()
        assert function.run.__self__ is function


def test_nothing_is_recorded_while_inactive():
    with wrapped() as (recorder, adapter):
        recorder.active = False
        Function(Kernel()).run(grid=(1,), warmup=False)
        assert (calls(recorder), adapter.kernels) == ([], 0)


@pytest.mark.parametrize("was_active", [True, False])
def test_launches_after_the_end_are_made_and_counted_if_they_would_be_recorded(was_active):
    with wrapped() as (recorder, adapter):
        recorder.active = was_active
        recorder.end()
        kernel = Kernel()
        assert Function(kernel).run(grid=(1,), warmup=False) is kernel
        Function(kernel).run(grid=(1,), warmup=False)
        assert (calls(recorder), adapter.kernels) == ([], 0)
        assert recorder.dropped == (2 if was_active else 0)
        recorder.forget()
        assert recorder.dropped == 0
        Function(kernel).run(grid=(1,), warmup=False)
        assert recorder.dropped == 0  # another run begins, in which nothing has ended


def test_enter_and_exit_are_realtime_clock_times_around_the_launch():
    with wrapped() as (recorder, _):
        function = Function(Kernel())
        before = time.time_ns()
        function.run(grid=lambda meta: time.sleep(0.01) or (1,), warmup=False)
        after = time.time_ns()
        (row,) = rows(recorder)
    assert before <= row["enter"] < row["exit"] <= after
    assert row["exit"] - row["enter"] >= 9_000_000


# -- launches by a launcher that is chosen ---------------------------------------------------------


class Autotuner:
    """What Inductor's autotuner is to the hot path: it launches with the one launcher it has."""

    def __init__(self, *launchers, result=None, error=None):
        self.launchers = list(launchers)
        self.result = result
        self.error = error
        self.given = []

    def run(self, *args, stream, benchmark_run=False, **kwargs):
        """Launch."""
        if self.error is not None:
            raise self.error
        self.given.append((args, stream, benchmark_run, kwargs))
        return self.result


@contextlib.contextmanager
def recording_with_adapter(adapter=None, **options):
    recorder, adapter, original = recorder_of(**options), adapter or Adapter(), Autotuner.run
    uncommon = []

    def careful(self, *args, **kwargs):
        uncommon.append((self, args, kwargs))
        return original(self, *args, **kwargs)

    Autotuner.run = recorder.wrap_choosing(original, adapter, careful)
    try:
        yield recorder, adapter, uncommon
    finally:
        Autotuner.run = original


def ways_to_run(autotuner):
    """Called as a method, as what a method was bound to before, and as the class's function."""
    bound = autotuner.run
    yield lambda *args, **kwargs: autotuner.run(*args, **kwargs)
    yield bound
    yield lambda *args, **kwargs: Autotuner.run(autotuner, *args, **kwargs)


def test_chosen_launcher_is_recorded_as_the_kernel():
    result, x = object(), torch.zeros(8)
    with recording_with_adapter() as (recorder, adapter, uncommon):
        autotuner = Autotuner(Kernel(), result=result)
        for stream, run in enumerate(ways_to_run(autotuner)):
            assert run(x, 8, stream=stream) is result
        autotuner.run(x, 9, stream=0)
        assert autotuner.given[:3] == [((x, 8), stream, False, {}) for stream in range(3)]
        assert (calls(recorder), uncommon, adapter.kernels) == ([0, 0, 0, 1], [], 1)
        assert adapter.calls == [(0, (0, 0, 0), 2, ())] * 2


def test_recorded_stream_is_that_of_the_launch():
    class OnDevice(Adapter):
        def new_kernel(self, owner, kernel):
            return (*super().new_kernel(owner, kernel)[:1], hot.CUDA, 3)

    # given handles of streams, and what is none: then torch is asked, and has no device here
    given = [0, 77, (1 << 63) - 1, -1, 1 << 63, 1 << 64, None, "7", True]
    with recording_with_adapter(OnDevice()) as (recorder, *_):
        autotuner = Autotuner(Kernel())
        for stream in given:
            autotuner.run(1, stream=stream)
        found = rows(recorder)
    assert found["stream"].tolist() == [0, 77, (1 << 63) - 1, -1, 0, 0, 0, 0, 0]
    assert found["device"].tolist() == [3] * len(given)


def test_nothing_is_recorded_while_there_are_several_launchers():
    with recording_with_adapter() as (recorder, adapter, _):
        for launchers in ([], [Kernel(), Kernel()]):
            Autotuner(*launchers).run(1, stream=0)
        recorder.active = False
        Autotuner(Kernel()).run(1, stream=0)
        Autotuner(Kernel()).run(1, stream=0, benchmark_run=True)
        assert (calls(recorder), adapter.kernels) == ([], 0)


def test_calls_with_other_keywords_go_to_the_uncommon_method_unchanged():
    with recording_with_adapter() as (recorder, _, uncommon):
        autotuner = Autotuner(Kernel(), result="done")
        for run in ways_to_run(autotuner):
            assert run(1, 2, stream=5, benchmark_run=True) == "done"
        assert uncommon == [(autotuner, (1, 2), {"stream": 5, "benchmark_run": True})] * 3
        assert autotuner.given == [((1, 2), 5, True, {})] * 3
        assert calls(recorder) == []


def test_exceptions_of_a_chosen_launch_propagate_and_nothing_is_recorded():
    error = ValueError("the launch's own")
    with recording_with_adapter() as (recorder, *_):
        for run in ways_to_run(Autotuner(Kernel(), error=error)):
            with pytest.raises(ValueError, match="the launch's own") as caught:
                run(1, stream=0)
            assert caught.value is error
            with pytest.raises(TypeError, match="stream"):
                run(1)
        assert calls(recorder) == []


def test_failures_of_kvtrace_around_a_chosen_launch_do_not_reach_the_program():
    class Broken(Adapter):
        def new_call(self, *arguments):
            raise RuntimeError("ours")

    problems = []
    with recording_with_adapter(Broken(), problems=problems):
        autotuner = Autotuner(Kernel(), result="done")
        assert autotuner.run(1, stream=0) == "done"
        del autotuner.launchers
        assert autotuner.run(1, stream=0) == "done"
        autotuner.launchers = 7
        assert autotuner.run(1, stream=0) == "done"
    assert [type(problem) for problem in problems] == [RuntimeError, AttributeError, TypeError]


def test_references_of_a_chosen_launch_are_balanced():
    launcher, x, result = Kernel(), torch.zeros(8), object()
    with recording_with_adapter() as (_, _, uncommon):
        autotuner = Autotuner(launcher, result=result)

        def launch():
            for run in ways_to_run(autotuner):
                run(x, 10**9, stream=0)
                run(x, 10**9, stream=0, benchmark_run=True)
            autotuner.given.clear()
            uncommon.clear()

        launch()
        held = (launcher, x, result, autotuner, autotuner.launchers, Autotuner)
        before = [sys.getrefcount(value) for value in held]
        for _ in range(100):
            launch()
        assert [sys.getrefcount(value) for value in held] == before


def test_wrapper_of_a_choosing_method_has_its_name_and_docstring():
    original = Autotuner.run
    with recording_with_adapter():
        assert inspect.unwrap(Autotuner.run) is original
        assert Autotuner.run.__doc__ == "Launch."
        assert inspect.signature(Autotuner.run) == inspect.signature(original)

"""The hot path, native and in Python: the same calls for the same launches, and nothing kept alive.

Given-when-then on both recorders with real torch tensors; kernels are plain objects, since a
recorder asks nothing of them.
"""

import contextlib
import gc
import inspect
import math
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.capture import hot
from kvtrace.capture.records import AUTOTUNE, RUN
from tests.capture.recorders import KINDS, Adapter, Kernel, _hot, calls, recorder_of, rows

torch = pytest.importorskip("torch")


def calls_of(kind, launches, **options):
    """The call ids that a fresh recorder gives to launches: (args, kwargs, grid) each."""
    recorder, adapter, kernel = recorder_of(kind, **options), Adapter(), Kernel()
    for args, kwargs, grid in launches:
        recorder.record(adapter, None, kernel, grid, args, kwargs, 1, 2)
    return calls(recorder)


def test_the_native_recorder_is_tested_where_it_can_be_built():
    assert _hot is not None or sys.platform == "win32", "build it: setup.py build_ext --inplace"


# -- identity --------------------------------------------------------------------------------------

BASE = torch.arange(64, dtype=torch.float32)
TENSORS = [
    BASE,
    BASE.clone(),
    BASE[1:],
    BASE[4:],
    BASE[:0],
    BASE.reshape(8, 8),
    BASE.reshape(8, 8).t(),
    BASE.reshape(8, 1, 8),
    BASE.as_strided((8, 1, 8), (8, 3, 1)),
    BASE.to(torch.bfloat16),
    BASE.to(torch.int32),
    BASE.view(torch.int32),
    BASE > 3,
    BASE.to(torch.float8_e5m2),
    BASE.to(torch.float8_e4m3fn),
    BASE.to(torch.complex64),
    torch.tensor(1.0),
    torch.nn.Parameter(BASE),
    torch.empty(64, device="meta"),
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.sampled_from([0.0, -0.0, 1.0, math.inf, math.nan]),
    st.text(max_size=9),
    st.sampled_from(["", "\0", "\0\0", "a", "\ud800"]),
    st.sampled_from([torch.float32, torch.float16, np.float32(1), np.int64(1), (1, True), (1, 1)]),
)
ARGUMENT = st.one_of(st.sampled_from(TENSORS), SCALARS)
LAUNCH = st.tuples(
    st.lists(ARGUMENT, max_size=5).map(tuple),
    st.dictionaries(st.sampled_from(["BLOCK", "x", "num_warps"]), SCALARS, max_size=3),
    st.sampled_from([(1,), (1, 1), (1, 1, 1), [1], (2,), (1, 2), torch.Size([2])]),
)


@pytest.mark.skipif(_hot is None, reason="the extension is not built")
@given(st.lists(LAUNCH, max_size=12))
@settings(max_examples=400, deadline=None)
def test_both_recorders_tell_the_same_launches_apart(launches):
    assert calls_of(hot.Recorder, launches) == calls_of(_hot.Recorder, launches)


@pytest.mark.skipif(_hot is None, reason="the extension is not built")
@given(st.lists(LAUNCH, min_size=1, max_size=4), st.lists(st.integers(0, 3), max_size=30))
@settings(max_examples=100, deadline=None)
def test_both_recorders_know_the_same_launches_again_in_a_table_that_overflows(launches, order):
    met = [launches[index % len(launches)] for index in order]
    assert calls_of(hot.Recorder, met, max_calls=2) == calls_of(_hot.Recorder, met, max_calls=2)


@pytest.mark.skipif(_hot is None, reason="the extension is not built")
@given(st.lists(LAUNCH, min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_what_was_seen_is_known_again(launches):
    for each in KINDS:
        ids = calls_of(each, launches + launches)
        assert ids[: len(launches)] == ids[len(launches) :]


def distinct(kind, *arguments):
    ids = calls_of(kind, [(args, {}, (1,)) for args in arguments])
    assert ids == list(range(len(arguments)))


def test_values_of_different_types_are_different_calls(kind):
    distinct(
        kind, (True,), (1,), (1.0,), ("1",), (None,), (np.int64(1),), (np.float32(1),), ((1,),)
    )


def test_integers_beyond_64_bits_are_told_apart(kind):
    distinct(kind, (2**63 - 1,), (2**63,), (2**64 - 1,), (-1,), (2**64,), (2**128,), (2**128 + 1,))


def colliding_arguments(count=5):
    """Pairs of integers whose words have one hash in `_hot_key.h`, each pair another."""
    multiplier, mask, integer = 0x9E3779B97F4A7C15, 2**64 - 1, 3

    def mixed(words, state):
        for word in words:
            state = ((state ^ (word & mask)) * multiplier) & mask
            state ^= state >> 29
        return state

    def hashed(words):
        return mixed([mixed(words[1::2], len(words))], mixed(words[::2], len(words)))

    def before_the_last(first):  # kernel, grid, two integers: the words at odd places
        return mixed([0, 1, 1, 1, integer, first, integer][1::2], 8)

    wanted = before_the_last(0)
    lasts = [wanted ^ before_the_last(first) for first in range(count)]
    words = [[0, 1, 1, 1, integer, first, integer, last] for first, last in enumerate(lasts)]
    assert len({hashed(each) for each in words}) == 1
    return [(first, last - 2**64 if last >> 63 else last) for first, last in enumerate(lasts)]


def test_calls_whose_hashes_collide_stay_apart(kind):
    launches = [(args, {}, (1,)) for args in colliding_arguments()]
    assert calls_of(kind, launches + launches) == [*range(5), *range(5)]


def test_floats_are_told_apart_by_their_bits(kind):
    distinct(kind, (0.0,), (-0.0,), (math.nan,), (math.inf,), (5e-324,))
    assert calls_of(kind, [((float("nan"),), {}, (1,)) for _ in range(3)]) == [0, 0, 0]


def test_arguments_cannot_be_taken_for_one_another(kind):
    distinct(kind, (), (1,), (1, 1), ("a", "b"), ("ab", ""), ("", "ab"), (("a", "b"),), (b"a",))
    ids = calls_of(kind, [((), {"a": 1}, (1,)), (("a", 1), {}, (1,)), ((1,), {"a": 1}, (1,))])
    assert ids == [0, 1, 2]


def test_keywords_are_told_apart_by_their_text_and_order(kind):
    equal = ["".join(("BLOCK", "_", "SIZE")) for _ in range(2)]
    assert equal[0] is not equal[1]
    given = [{equal[0]: 1}, {equal[1]: 1}, {"BLOCK_M": 1}, {"a": 1, "b": 1}, {"b": 1, "a": 1}]
    assert calls_of(kind, [((), kwargs, (1,)) for kwargs in given]) == [0, 0, 1, 2, 3]
    assert calls_of(kind, [((), kwargs, (1,)) for kwargs in given * 2])[5:] == [0, 0, 1, 2, 3]


def test_any_number_of_keywords_is_known_again(kind):
    launches = [((), {f"name{number}": 1}, (1,)) for number in range(5000)]
    ids = calls_of(kind, launches * 2, max_calls=10_000)
    assert ids == [*range(5000), *range(5000)]


def test_a_call_that_alternates_with_another_is_known_again(kind):
    x, y = torch.zeros(4, 8), torch.zeros(2, 3, 4, 5, 6)
    launches = [((x,), {}, (1,)), ((y,), {}, (1,)), ((x, 3), {}, (1,))]
    order = [0, 0, 0, 1, 0, 1, 1, 1, 2, 0]
    assert calls_of(kind, [launches[index] for index in order]) == order


def test_metadata_of_tensors_tells_calls_apart(kind):
    x = torch.zeros(4, 8)
    distinct(
        kind,
        (x,),
        (x.t(),),
        (x[:, :4],),
        (x.flatten()[1:].as_strided((4, 8), (7, 1)),),
        (x.to(torch.float64),),
        (x.view(torch.int32),),
        (torch.empty(4, 8, device="meta"),),
        (x.flatten(),),
    )


def test_strides_of_dimensions_of_size_one_count(kind):
    distinct(kind, (BASE.as_strided((8, 1), (1, 1)),), (BASE.as_strided((8, 1), (1, 5)),))


def test_alignment_and_aliasing_tell_calls_apart_and_addresses_do_not(kind):
    x, y, z = (torch.zeros(16) for _ in range(3))
    distinct(kind, (x, y), (x, x), (x[:8], y), (x[1:9], y))
    same = [((x, y, x), {}, (1,)), ((y, z, y), {}, (1,)), ((x, y, y), {}, (1,))]
    assert calls_of(kind, same) == [0, 0, 1]


def test_tensors_of_other_types_are_read_exactly(kind):
    class Sub(torch.Tensor):
        pass

    sub = torch.zeros(8).as_subclass(Sub)
    distinct(kind, (torch.zeros(8),), (sub,), (sub[1:],), (sub, torch.zeros(8)), (sub, sub))


def test_dtypes_given_as_values_are_known_again(kind):
    launches = [((dtype,), {}, (1,)) for dtype in (torch.float32, torch.float16, torch.float32)]
    assert calls_of(kind, launches) == [0, 1, 0]


def test_objects_of_unknown_kind_are_told_apart_while_they_live(kind):
    recorder, adapter, kernel = recorder_of(kind), Adapter(), Kernel()
    for _ in range(20):  # each dies, and its address is used again
        recorder.record(adapter, None, kernel, (1,), (Kernel(),), {}, 1, 2)
    assert calls(recorder) == list(range(20))


def test_grids_of_any_form_are_one_call_when_equal(kind):
    grids = [(4,), [4], (4, 1), (4, 1, 1), torch.Size([4]), (np.int64(4),), (4, 2)]
    assert calls_of(kind, [((), {}, grid) for grid in grids]) == [0, 0, 0, 0, 0, 0, 1]
    # also where some numbers of a tuple are plain and others are not
    grids = [(4, np.int64(2)), (4, 2), (4, 2, True), (4, 2, 1, 9), (True,), (1,)]
    assert calls_of(kind, [((), {}, grid) for grid in grids]) == [0, 0, 0, 0, 1, 1]


def test_more_arguments_than_any_buffer_holds(kind):
    many = tuple(torch.zeros(2, 2, 2, 2) for _ in range(200))
    swapped = (*many[:-1], many[0])
    assert calls_of(kind, [(many, {}, (1,)), (swapped, {}, (1,)), (many, {}, (1,))]) == [0, 1, 0]


# -- kernels ---------------------------------------------------------------------------------------


def test_kernels_are_not_kept_alive_nor_mistaken_for_one_another(kind):
    recorder, adapter = recorder_of(kind), Adapter()
    for _ in range(300):  # addresses come again
        kernel = Kernel()
        recorder.record(adapter, None, kernel, (1,), (), {}, 1, 2)
        gone = weakref.ref(kernel)
        del kernel
        assert gone() is None
    assert adapter.kernels == 300
    assert calls(recorder) == list(range(300))


def test_a_kernel_that_cannot_be_watched_is_kept(kind):
    recorder, adapter = recorder_of(kind), Adapter()
    kernel = "a kernel without weak references"
    for _ in range(2):
        recorder.record(adapter, None, kernel, (1,), (), {}, 1, 2)
    assert (adapter.kernels, calls(recorder)) == (1, [0, 0])


def test_kernels_that_are_not_wanted_leave_nothing(kind):
    recorder, adapter = recorder_of(kind), Adapter(only_kernel=-1)
    recorder.record(adapter, None, Kernel(), (1,), (1,), {}, 1, 2)
    assert (calls(recorder), adapter.calls) == ([], [])


def test_the_table_of_calls_is_bounded(kind):
    recorder, adapter, kernel = recorder_of(kind, max_calls=10), Adapter(), Kernel()
    for size in range(25):
        recorder.record(adapter, None, kernel, (1,), (size,), {}, 1, 2)
    assert recorder.known_calls <= 10
    assert recorder.overflows == 2
    assert calls(recorder) == list(range(25))


# -- wrapping --------------------------------------------------------------------------------------


class Function:
    """What a jitted function is to the hot path: a class whose method is wrapped."""

    def __init__(self, kernel=None, error=None):
        self.kernel = kernel
        self.error = error
        self.given = []

    def run(self, *args, grid, warmup, **kwargs):
        """Launch."""
        if self.error is not None:
            raise self.error
        self.given.append((args, grid(kwargs) if callable(grid) else grid, warmup, kwargs))
        return self.kernel


@contextlib.contextmanager
def wrapped(kind, **options):
    recorder, adapter, original = recorder_of(kind, **options), Adapter(), Function.run
    Function.run = recorder.wrap(original, adapter)
    try:
        yield recorder, adapter
    finally:
        Function.run = original


def test_a_launch_gives_what_it_gave_and_gets_what_it_got(kind):
    kernel = Kernel()
    with wrapped(kind) as (recorder, adapter):
        function = Function(kernel)
        assert function.run(1, "a", grid=(3, 2), warmup=False, BLOCK=4) is kernel
        assert function.given == [((1, "a"), (3, 2), False, {"BLOCK": 4})]
        assert adapter.calls == [(0, (3, 2, 1), 2, adapter.calls[0][3])]
        assert calls(recorder) == [0]


def test_a_callable_grid_is_asked_once_and_its_answer_counts(kind):
    asked = []

    def grid(meta):
        asked.append(meta)
        return (meta["BLOCK"], 5)

    with wrapped(kind) as (_, adapter):
        Function(Kernel()).run(grid=grid, warmup=False, BLOCK=7)
        assert asked == [{"BLOCK": 7}]
        assert adapter.calls[0][1] == (7, 5, 1)


def test_the_callers_keyword_arguments_are_left_alone(kind):
    given = {"grid": lambda meta: (1,), "warmup": False, "BLOCK": 1}
    before = dict(given)
    with wrapped(kind):
        function = Function(Kernel())
        function.run(**given)
        Function.run(function, **given)  # not bound, as another wrapper calls it
    assert given == before
    assert len(function.given) == 2


def test_exceptions_of_the_launch_pass_unchanged_and_are_no_launches(kind):
    error = ValueError("the launch's own")
    with wrapped(kind) as (recorder, _):
        with pytest.raises(ValueError, match="the launch's own") as caught:
            Function(error=error).run(grid=(1,), warmup=False)
        assert caught.value is error
        with pytest.raises(TypeError, match="grid"):
            Function(Kernel()).run(1, warmup=False)
        with pytest.raises(ZeroDivisionError):
            Function(Kernel()).run(grid=lambda meta: (1 // 0,), warmup=False)
        assert calls(recorder) == []


def test_compiling_ahead_is_no_launch(kind):
    kernel = Kernel()
    with wrapped(kind) as (recorder, adapter):
        assert Function(kernel).run(grid=(1,), warmup=True) is kernel
        assert Function(None).run(grid=(1,), warmup=False) is None  # a hook took the launch over
        assert (calls(recorder), adapter.kernels, adapter.calls) == ([], 1, [])
        Function(kernel).run(grid=(1,), warmup=False)
        assert (calls(recorder), adapter.kernels) == ([0], 1)


def test_failures_of_ours_are_told_and_do_not_reach_the_program(kind):
    class Broken(Adapter):
        def new_call(self, *arguments):
            raise RuntimeError("ours")

    problems = []
    recorder, original, kernel = recorder_of(kind, problems), Function.run, Kernel()
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


def test_an_interrupt_that_arrives_in_our_code_is_the_programs(kind):
    class Interrupted(Adapter):
        def new_call(self, *arguments):
            raise KeyboardInterrupt

    recorder, original = recorder_of(kind), Function.run
    Function.run = recorder.wrap(original, Interrupted())
    try:
        with pytest.raises(KeyboardInterrupt):
            Function(Kernel()).run(grid=(1,), warmup=False)
    finally:
        Function.run = original


def test_the_wrapper_looks_like_what_it_wraps(kind):
    original = Function.run
    with wrapped(kind):
        assert inspect.unwrap(Function.run) is original
        assert inspect.signature(Function.run) == inspect.signature(original)
        assert Function.run.__name__ == "run"
        assert Function.run.__doc__ == "Launch."
        function = Function()
        assert function.run.__self__ is function


def test_nothing_is_recorded_while_inactive(kind):
    with wrapped(kind) as (recorder, adapter):
        recorder.active = False
        Function(Kernel()).run(grid=(1,), warmup=False)
        assert (calls(recorder), adapter.kernels) == ([], 0)


def test_enter_and_exit_are_the_launchs_own_times_by_the_realtime_clock(kind):
    with wrapped(kind) as (recorder, _):
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
def choosing(kind, adapter=None, **options):
    recorder, adapter, original = recorder_of(kind, **options), adapter or Adapter(), Autotuner.run
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


def test_the_launcher_that_was_chosen_is_what_is_recorded(kind):
    result, x = object(), torch.zeros(8)
    with choosing(kind) as (recorder, adapter, uncommon):
        autotuner = Autotuner(Kernel(), result=result)
        for stream, run in enumerate(ways_to_run(autotuner)):
            assert run(x, 8, stream=stream) is result
        autotuner.run(x, 9, stream=0)
        assert autotuner.given[:3] == [((x, 8), stream, False, {}) for stream in range(3)]
        assert (calls(recorder), uncommon, adapter.kernels) == ([0, 0, 0, 1], [], 1)
        assert adapter.calls == [(0, (0, 0, 0), 2, ())] * 2


def test_the_stream_is_what_the_program_launched_on(kind):
    class OnDevice(Adapter):
        def new_kernel(self, owner, kernel):
            return (*super().new_kernel(owner, kernel)[:1], hot.CUDA, 3)

    # given handles of streams, and what is none: then torch is asked, and has no device here
    given = [0, 77, (1 << 63) - 1, -1, 1 << 63, 1 << 64, None, "7", True]
    with choosing(kind, OnDevice()) as (recorder, *_):
        autotuner = Autotuner(Kernel())
        for stream in given:
            autotuner.run(1, stream=stream)
        found = rows(recorder)
    assert found["stream"].tolist() == [0, 77, (1 << 63) - 1, -1, 0, 0, 0, 0, 0]
    assert found["device"].tolist() == [3] * len(given)


def test_nothing_is_recorded_while_the_launcher_is_not_chosen(kind):
    with choosing(kind) as (recorder, adapter, _):
        for launchers in ([], [Kernel(), Kernel()]):
            Autotuner(*launchers).run(1, stream=0)
        recorder.active = False
        Autotuner(Kernel()).run(1, stream=0)
        Autotuner(Kernel()).run(1, stream=0, benchmark_run=True)
        assert (calls(recorder), adapter.kernels) == ([], 0)


def test_what_is_uncommon_goes_another_way_with_all_that_was_given(kind):
    with choosing(kind) as (recorder, _, uncommon):
        autotuner = Autotuner(Kernel(), result="done")
        for run in ways_to_run(autotuner):
            assert run(1, 2, stream=5, benchmark_run=True) == "done"
        assert uncommon == [(autotuner, (1, 2), {"stream": 5, "benchmark_run": True})] * 3
        assert autotuner.given == [((1, 2), 5, True, {})] * 3
        assert calls(recorder) == []


def test_exceptions_of_a_chosen_launch_pass_unchanged_and_are_no_launches(kind):
    error = ValueError("the launch's own")
    with choosing(kind) as (recorder, *_):
        for run in ways_to_run(Autotuner(Kernel(), error=error)):
            with pytest.raises(ValueError, match="the launch's own") as caught:
                run(1, stream=0)
            assert caught.value is error
            with pytest.raises(TypeError, match="stream"):
                run(1)
        assert calls(recorder) == []


def test_failures_of_ours_around_a_chosen_launch_do_not_reach_the_program(kind):
    class Broken(Adapter):
        def new_call(self, *arguments):
            raise RuntimeError("ours")

    problems = []
    with choosing(kind, Broken(), problems=problems):
        autotuner = Autotuner(Kernel(), result="done")
        assert autotuner.run(1, stream=0) == "done"
        del autotuner.launchers
        assert autotuner.run(1, stream=0) == "done"
        autotuner.launchers = 7
        assert autotuner.run(1, stream=0) == "done"
    assert [type(problem) for problem in problems] == [RuntimeError, AttributeError, TypeError]


def test_references_of_a_chosen_launch_are_balanced(kind):
    launcher, x, result = Kernel(), torch.zeros(8), object()
    with choosing(kind) as (_, _, uncommon):
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


def test_the_wrapper_of_a_choosing_method_looks_like_what_it_wraps(kind):
    original = Autotuner.run
    with choosing(kind):
        assert inspect.unwrap(Autotuner.run) is original
        assert Autotuner.run.__doc__ == "Launch."
        assert inspect.signature(Autotuner.run) == inspect.signature(original)


# -- memory and threads ----------------------------------------------------------------------------


def test_tensors_die_when_the_program_lets_them_go(kind):
    with wrapped(kind):
        function, tensor = Function(Kernel()), torch.zeros(8)
        function.run(tensor, grid=lambda meta: (1,), warmup=False)
        function.given.clear()
        gone = weakref.ref(tensor)
        del tensor
        assert gone() is None


def test_launches_leave_nothing_for_the_garbage_collector(kind):
    with wrapped(kind) as (recorder, _):
        function, x = Function(Kernel()), torch.zeros(8)
        function.given = type("Nowhere", (), {"append": lambda self, row: None})()
        function.run(x, x, 3, grid=lambda meta: (1,), warmup=False, BLOCK=2)
        gc.collect()
        gc.disable()
        try:
            before = len(gc.get_objects())
            for _ in range(500):
                function.run(x, x, 3, grid=lambda meta: (1,), warmup=False, BLOCK=2)
            assert len(gc.get_objects()) - before < 20
        finally:
            gc.enable()
        assert len(calls(recorder)) == 501


def test_references_are_balanced(kind):
    kernel, x, name = Kernel(), torch.zeros(8), "a name that is no constant " * 3
    with wrapped(kind):
        function = Function(kernel)
        held = (kernel, x, name, torch.float32, None, Function)
        function.run(x, name, torch.float32, grid=(1,), warmup=False)
        function.given.clear()
        before = [sys.getrefcount(value) for value in held]
        for _ in range(100):
            function.run(x, name, torch.float32, grid=(1,), warmup=False)
            function.given.clear()
        after = [sys.getrefcount(value) for value in held]
    assert [late - early for early, late in zip(before, after, strict=True)] == [0] * 4 + [
        after[4] - before[4],
        0,
    ]
    assert abs(after[4] - before[4]) < 50  # None is everybody's


def test_a_recorder_is_collected_with_its_wrapper(kind):
    recorder, adapter = recorder_of(kind), Adapter()
    function = recorder.wrap(Function.run, adapter)
    adapter.function = function  # a cycle through the adapter
    kernel = Kernel()
    function(Function(kernel), grid=(1,), warmup=False)
    gone = weakref.ref(adapter)
    del recorder, adapter, function, kernel
    gc.collect()
    assert gone() is None


def test_threads_lose_no_launch_and_agree_on_the_calls(kind):
    recorder, adapter, kernel = recorder_of(kind), Adapter(), Kernel()
    taken, stop = [], threading.Event()

    def launch():
        for size in range(2000):
            recorder.record(adapter, None, kernel, (1,), (size % 50,), {}, size, size)

    def drain():
        while not stop.is_set():
            taken.append(rows(recorder))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        workers = [threading.Thread(target=launch) for _ in range(4)]
        drainer = threading.Thread(target=drain)
        for thread in (drainer, *workers):
            thread.start()
        for thread in workers:
            thread.join()
        stop.set()
        drainer.join()
    finally:
        sys.setswitchinterval(before)
    found = np.concatenate([*taken, rows(recorder)])
    assert len(found) == 8000
    assert len(set(found["thread"].tolist())) == 4
    # one size is one call, but for those that two threads met at the same moment
    per_size = {
        size: {int(c) for c in found["call_id"][found["enter"] % 50 == size]} for size in range(50)
    }
    assert all(1 <= len(ids) <= 4 for ids in per_size.values())
    assert not set.intersection(*per_size.values())


def test_rows_say_thread_and_phase_of_the_launching_thread(kind):
    recorder = recorder_of(kind)

    def launch():
        assert recorder.swap_phase(AUTOTUNE) == RUN
        recorder.append(1, 10, 20)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    recorder.append(2, 30, 40, 3, 5)
    first, second = rows(recorder)
    assert first["phase"] == AUTOTUNE
    assert second.tolist() == (30, 40, 2, 5, threading.get_native_id(), 0, 3, RUN)
    assert first["thread"] not in (0, second["thread"])


def test_what_was_copied_belongs_to_the_next_launch_alone(kind):
    recorder, adapter, kernel = recorder_of(kind), Adapter(), Kernel()

    def launch():
        recorder.record(adapter, None, kernel, (1,), (1.0,), {}, 1, 2)

    launch()
    assert recorder.tag(7) == 0
    launch()
    launch()
    assert (recorder.tag(8), recorder.tag(9)) == (0, 8)
    recorder.append(1, 10, 20)
    assert rows(recorder)["contents"].tolist() == [0, 7, 0, 0]


def test_what_was_copied_for_a_launch_that_failed_is_no_others(kind):
    recorder, adapter, kernel = recorder_of(kind), Adapter(), Kernel()

    class Owner:
        def run(self, fails, *, grid, warmup):
            del grid, warmup
            if fails:
                recorder.tag(5)
                raise ValueError("after the launch")
            return kernel

    Owner.run = recorder.wrap(Owner.run, adapter)
    with pytest.raises(ValueError, match="after the launch"):
        Owner().run(True, grid=(1,), warmup=False)
    Owner().run(False, grid=(1,), warmup=False)
    assert rows(recorder)["contents"].tolist() == [0]


def test_launchers_that_are_apart_go_another_way(kind):
    class Apart(Adapter):
        def new_kernel(self, owner, kernel):
            return (*super().new_kernel(owner, kernel)[:3], kernel.apart)

    recorder, adapter = recorder_of(kind), Apart()
    went = []

    class Owner:
        def run(self, x, *, stream):
            del x, stream
            went.append("plain")

        def careful(self, x, *, stream):
            del x, stream
            went.append("careful")

    Owner.run = recorder.wrap_choosing(Owner.run, adapter, Owner.careful)
    for apart in (True, False):
        owner, launcher = Owner(), Kernel()
        launcher.apart = apart
        owner.launchers = [launcher]
        owner.run(1, stream=0)  # it is not known yet
        owner.run(1, stream=0)
    assert went == ["plain", "careful", "plain", "plain"]


def test_many_rows_come_out_in_order_and_once(kind):
    recorder = recorder_of(kind)
    for number in range(10_000):
        recorder.append(number, number, number)
    assert calls(recorder) == list(range(10_000))
    assert calls(recorder) == []


def test_forgetting_begins_anew(kind):
    recorder, adapter, kernel = recorder_of(kind), Adapter(), Kernel()
    recorder.record(adapter, None, kernel, (1,), (), {}, 1, 2)
    recorder.forget()
    assert (recorder.known_calls, calls(recorder)) == (0, [])
    recorder.record(adapter, None, kernel, (1,), (), {}, 1, 2)
    assert (adapter.kernels, calls(recorder)) == (2, [1])


def test_launches_on_intel_have_their_device(kind):
    class OnIntel(Adapter):
        def new_kernel(self, owner, kernel):
            return (0, hot.ONEAPI, 2)

    recorder = recorder_of(kind)
    recorder.record(OnIntel(), None, Kernel(), (1,), (torch.ones(2), 3), {}, 1, 2)
    (row,) = rows(recorder)
    assert row["stream"] == 0  # it is not known
    assert row["device"] == 2


class TestWhoseLaunchIsUnderWay:
    """`launching`: the id of whose launch the running thread has under way."""

    @pytest.fixture
    def recorder(self, kind):
        return recorder_of(kind)

    def owner_whose_launch(self, recorder, what):
        """An owner with a wrapped `run` that does something and returns a kernel."""

        class Owner:
            def run(self, *_args, grid, warmup):
                what(self)
                return Kernel()

        Owner.run = recorder.wrap(Owner.run, Adapter())
        return Owner()

    def test_it_is_the_owners_while_it_launches(self, recorder):
        seen = []
        owner = self.owner_whose_launch(recorder, lambda _: seen.append(recorder.launching))
        owner.run(grid=(1,), warmup=False)
        owner.run(grid=lambda _: (1,), warmup=True)
        assert seen == [id(owner), id(owner)]
        assert recorder.launching == 0

    def test_a_launch_inside_another_leaves_the_outer_one(self, recorder):
        seen = []
        inner = self.owner_whose_launch(recorder, lambda _: seen.append(recorder.launching))

        def launch_inner(_):
            inner.run(grid=(1,), warmup=False)
            seen.append(recorder.launching)

        outer = self.owner_whose_launch(recorder, launch_inner)
        outer.run(grid=(1,), warmup=False)
        assert seen == [id(inner), id(outer)]

    def test_a_launch_that_fails_is_over(self, recorder):
        def fail(_):
            raise ValueError("as the program wants it")

        owner = self.owner_whose_launch(recorder, fail)
        with pytest.raises(ValueError, match="as the program wants it"):
            owner.run(grid=(1,), warmup=False)
        assert recorder.launching == 0

    def test_other_threads_have_none(self, recorder):
        seen = []

        def look(_):
            thread = threading.Thread(target=lambda: seen.append(recorder.launching))
            thread.start()
            thread.join()

        self.owner_whose_launch(recorder, look).run(grid=(1,), warmup=False)
        assert seen == [0]

    def test_it_can_be_set_for_a_launch_that_is_not_wrapped(self, recorder):
        recorder.launching = id(recorder)
        assert recorder.launching == id(recorder)
        recorder.launching = 0
        assert recorder.launching == 0

"""Everything at once in the C of the hot path, for the sanitizers.

    python -m tests.native.stress SECONDS

Threads launch odd arguments while kernels die, collections run, a journal drains and signals
arrive; properties run Python, raise and change what is read; allocations fail; the process forks
(not beside threads, which hold locks of the sanitizer); at the end Python ends while daemon threads
still launch. Ends with 1 if a launch was harmed.
"""

import _testcapi  # type: ignore[import-not-found]
import gc
import itertools
import math
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import torch

from kvtrace.capture import _hot  # type: ignore[attr-defined]

TYPES: Final = (torch.Tensor, torch.nn.Parameter)
problems: Counter[str] = Counter()
numbers: Final = itertools.count(1)


class Kernel:
    """Stands for a compiled kernel."""


class Raising:
    """Its attributes raise."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Changing(list[Any]):
    """It is emptied while it is described."""


class Fielded:
    """It is told apart by fields, as a descriptor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.a, self.b, self.c = tensor, list(tensor.shape), list(tensor.stride())


def describe(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Fielded):
        return b"", None, ("a", "b", "c")
    if isinstance(value, Raising):
        value.data_ptr()
    if isinstance(value, Changing):
        value.clear()
    if isinstance(value, torch.Tensor) and not value.is_sparse:
        pointer = value.data_ptr()
        return b"tensor", ((pointer, pointer, pointer + 8),)
    return repr(type(value)).encode(), None


class Adapter:
    """A backend in which other threads run, and which fails now and then."""

    def new_kernel(self, _owner: Any, _kernel: Any) -> tuple[int, int, int]:
        if random.random() < 0.1:
            gc.collect(0)
        if random.random() < 0.05:
            raise RuntimeError("new_kernel")
        return next(numbers), random.choice((0, 1)), 0

    def new_call(
        self, _owner: Any, _kernel: Any, _id: int, _grid: Any, values: Any, _kw: Any
    ) -> int:
        time.sleep(0)
        if random.random() < 0.02:
            raise RuntimeError("new_call")
        recorder.place(tuple(value.data_ptr() for value in values if type(value) is torch.Tensor))
        return next(numbers)


def problem(error: Exception) -> None:
    problems[f"{type(error).__name__}: {error}"[:60]] += 1


recorder = _hot.Recorder(describe, problem, TYPES, 50)
recorder.keeps_addresses = True


class Expected(Exception):
    """What the program itself raises."""


def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
    if random.random() < 0.2:
        self.kernel = Kernel()
    if random.random() < 0.02:
        raise Expected
    if callable(grid):
        grid({})
    return self.kernel


class Function:
    """What a jitted function is to the hot path."""

    def __init__(self) -> None:
        self.kernel = Kernel()

    run = recorder.wrap(run, Adapter())


def nested(depth: int) -> Any:
    value: Any = (1,)
    for _ in range(depth):
        value = (value,)
    return value


def values() -> Iterator[Any]:
    tensor, endless = torch.empty(random.randrange(1, 5000)), []  # type: ignore[var-annotated]
    endless.append(endless)
    chain = [tensor[number : number + 2] for number in range(min(300, len(tensor)))]
    yield from (tensor, torch.ones(3, 4).t(), torch.empty((2,) * 20), torch.empty(0), chain)
    yield from (torch.ones(1).expand(1 << 40), torch.empty(4, device="meta"))
    yield torch.empty_strided((2, 2), (1 << 61, 1 << 61), device="meta")
    yield torch.sparse_coo_tensor(torch.zeros(1, 1, dtype=torch.long), torch.ones(1), (3,))
    yield from (torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2)))
    yield torch.ones(3, dtype=torch.complex64).conj()
    yield from (1, -1, 2**63 - 1, -(2**63), 2**64, 10**400, True, None, math.nan, math.inf, -0.0)
    yield from ("", "a\0b", "\ud800", "x" * 100_000, b"", b"x" * 1000, object(), torch.float32)
    yield from ((), [], (1, (2, [3, tensor])), nested(100), nested(1500), endless, Changing([1]))
    yield from (Raising(), Fielded(tensor), Fielded(torch.ones(4, 4).t()), [tensor, tensor[1:]])


GRIDS: Final[Any] = (
    (1,), (1, 2, 3), [4], (), (2**70,), (1, 2, 3, 4), lambda meta: (5,), lambda meta: 7, "x", None,
)  # fmt: skip
state = SimpleNamespace(stop=False, launches=0, harmed=[])


def launch_on(seed: int) -> None:
    chosen, function = random.Random(seed), Function()
    while not state.stop:
        pool = list(values())
        for count in (0, 1, 3, 8, 40) * 6:
            arguments = [chosen.choice(pool) for _ in range(count)]
            named = {f"k{chosen.randrange(6000)}": chosen.choice(pool) for _ in range(count // 3)}
            launch_once(function, arguments, chosen.choice(GRIDS), named)


def launch_once(function: Any, arguments: list[Any], grid: Any, named: dict[str, Any]) -> None:
    state.launches += 1
    try:
        made = function.run(*arguments, grid=grid, warmup=random.random() < 0.3, **named)
    except Expected:
        return
    except BaseException as error:
        state.harmed.append(repr(error))
        return
    if not isinstance(made, Kernel):
        state.harmed.append(f"returned {made!r}")


def drain() -> None:
    while not state.stop:
        rows = recorder.drain()
        recorder.drain_addresses(len(rows) // 64)
        _hot.launch_columns(rows, 0, 0)
        recorder.spool_add(b"[1]" * random.randrange(2000))
        recorder.spool_write()
        recorder.spool_switch()
        recorder.spool_empty()
        recorder.swap_phase(random.randrange(3))
        time.sleep(0.001)


def collect() -> None:
    _hot.find_collector(gc)
    while not state.stop:
        _hot.begin_uncounted()
        gc.collect(1)
        _hot.frozen_objects(Kernel)
        _hot.end_uncounted()
        time.sleep(0.01)


def fork() -> None:
    """A child launches before and after it forgets the parent's run."""
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(120)
        state.harmed.clear()
        function = Function()
        for count in range(40):
            launch_once(function, [torch.ones(count + 1)], (1,), {})
            if count == 20:
                recorder.forget()
        recorder.drain()
        os._exit(bool(state.harmed))
    if status := os.waitpid(child, 0)[1]:
        state.harmed.append(f"a child ended with {status}")


def fail_allocations() -> None:
    """One allocation fails in each of many launches, of this thread alone now."""
    function = Function()
    function.run = Function.run.__get__(function)  # type: ignore[method-assign]
    for number in range(1, 400):
        arguments, grid = [torch.ones(4), 3, (1, [2.5]), "text"] * 4, GRIDS[number % 7]
        _testcapi.set_nomemory(number % 80, number % 80 + 1)
        try:
            function.run(*arguments, grid=grid, warmup=False)
        except (MemoryError, Expected):
            pass
        finally:
            _testcapi.remove_mem_hooks()


def launch_many() -> None:
    function, tensor = Function(), torch.zeros(20_000)
    views = [tensor[number : number + 2] for number in range(10_000)]
    for arguments in (views, list(range(10_000)), [tensor] * 10_000):
        launch_once(function, arguments, (1,), {})


def launch_for_ever() -> None:
    """Without torch, whose C++ aborts where Python ends a thread."""
    function = Function()
    while True:
        launch_once(function, [1, 2.5, "text", (1, 2)], (1,), {})


def main(seconds: float) -> int:
    signal.signal(signal.SIGALRM, lambda *_: None)
    folder = tempfile.mkdtemp()
    memory = f"/dev/shm/kvtrace-stress-{os.getpid()}"
    assert recorder.spool_begin(f"{folder}/spool".encode(), memory.encode(), b"ns\n/x", b"[]")
    launch_many()
    fail_allocations()
    signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
    threads = [threading.Thread(target=launch_on, args=(n,)) for n in range(4)]
    threads += [threading.Thread(target=drain), threading.Thread(target=collect)]
    sys.setswitchinterval(1e-4)
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    state.stop = True
    signal.setitimer(signal.ITIMER_REAL, 0)
    for thread in threads:
        thread.join()
    for _ in range(10):
        fork()
    recorder.spool_end()
    print(
        f"{state.launches} launches, {recorder.dropped} dropped, {sum(problems.values())} problems"
    )
    print("\n".join(state.harmed[:10]))
    harmed = bool(state.harmed)
    for _ in range(2):
        threading.Thread(target=launch_for_ever, daemon=True).start()
    return harmed


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))

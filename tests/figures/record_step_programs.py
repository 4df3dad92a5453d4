"""Recording of programs of tests/gpu/step_programs.py on a machine without a GPU.

    python -m tests.figures.record_step_programs FOLDER [NAME …]

writes a run for each program; `kvtrace trace redact --host` makes the fixture of it. The programs
run as they are: what their host asks for (each operator of torch that has a kernel, in order, and
on which thread, as autograd's has its own on a GPU) is real. Time is a model, so that other
programs on the machine do not matter. The host's is the thread's processor time, in which an
operator takes 5 µs instead of what it computes, and a sleep what it was to take. The device has one
stream, which executes kernels in order, each for 15 µs and 1 ns for each 20 bytes. Reading a number
waits for it. One request replays what a graph captured.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from kvtrace.schema.writer import RunWriter
from tests.gpu.step_programs import PROGRAMS, Machine, Work

#: Operators without a kernel, besides views: of storage, and of what lies on the host, as the
#: weights' first values and what loaders make.
_WITHOUT_KERNEL = frozenset({
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "detach", "set_",
    "lift_fresh", "_unsafe_view", "randint", "random_", "uniform_", "normal_",
    "stack",
    "profiler::_record_function_enter_new", "profiler::_record_function_exit",
})  # fmt: skip
_OPERATOR_NS, _LATENCY_NS, _KERNEL_NS, _BYTES_PER_NS = 5_000, 4_000, 15_000, 20
_EPOCH = 1_767_323_045_000_000_000
_MAIN, _AUTOGRAD = 1, 2


def _is_of_host(name: str) -> bool:
    """Return whether a number is read that is on the host: an optimizer's count, or a sampler's."""
    frame = sys._getframe(2)
    places = []
    while frame.f_back is not None and len(places) < 6:
        places.append(frame.f_code.co_filename.replace("\\", "/"))
        frame = frame.f_back
    of_host = ("torch/optim/", "torch/utils/data/")
    return name == "_local_scalar_dense" and any(part in p for p in places for part in of_host)


class _Clock:
    """The host's time, in ns since 1970."""

    def __init__(self) -> None:
        self._shift = _EPOCH - time.thread_time_ns()

    def now(self) -> int:
        return time.thread_time_ns() + self._shift

    def set(self, moment: int) -> None:
        """Let it be this time now."""
        self._shift = moment - time.thread_time_ns()

    def sleep(self, seconds: float) -> None:
        """Pass time; in place of `time.sleep`."""
        self._shift += round(seconds * 1e9)


class _Recorder(TorchDispatchMode):
    """Records each operator as a request and an execution."""

    def __init__(self, clock: _Clock) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []
        self.marks: list[int] = []
        self._captured: list[tuple[str, int]] | None = None
        self._graphs = 0
        self._free = 0
        self._clock = clock

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        asked = self._clock.now()
        result = func(*args, **(kwargs or {}))
        returns = asked + _OPERATOR_NS
        name = func._schema.name.removeprefix("aten::")
        if not func.is_view and name not in _WITHOUT_KERNEL and not _is_of_host(name):
            leaves = tree_leaves((args, kwargs, result))
            moved = sum(t.numel() * t.element_size() for t in leaves if torch.is_tensor(t))
            kernel = name, _KERNEL_NS + moved // _BYTES_PER_NS
            if self._captured is not None:
                self._captured.append(kernel)
            elif name == "_local_scalar_dense":
                self._execute(asked, [kernel], kind="copy")
                returns = max(returns, self._free)
            else:
                self._execute(asked, [kernel])
        self._clock.set(returns)
        return result

    def _execute(
        self,
        asked: int,
        kernels: list[tuple[str, int]],
        kind: str | None = None,
        graph: int | None = None,
    ) -> None:
        thread = _MAIN if torch._C._current_autograd_node() is None else _AUTOGRAD
        for name, took in kernels:
            start = max(self._free, asked + _LATENCY_NS)
            self._free = start + took
            self.rows.append(
                {"record": len(self.rows), "name": name, "requested": asked, "start": start}
                | {"end": self._free, "request_thread": thread, "kind": kind, "graph_id": graph}
            )

    def mark(self) -> None:
        """Begin a step."""
        self.marks.append(self._clock.now())

    def graph(self, work: Work) -> Work:
        """Return what asks for all that a function asks for now, as one request."""
        self._captured = captured = []
        work()
        self._captured = None
        self._graphs += 1
        number = self._graphs
        return lambda: self._execute(self._clock.now(), captured, graph=number)


def record(folder: Path, name: str, program: Callable[[Machine], None]) -> None:
    """Write a program's run, with its marks."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    clock = _Clock()
    recorder = _Recorder(clock)
    with mock.patch.object(time, "sleep", clock.sleep), recorder:
        program(Machine("cpu", recorder.mark, recorder.graph))
    recorder.mark()
    writer = RunWriter(folder, name)
    writer.append_rows("gpu_kernels", recorder.rows)
    marks = [{"mark_id": n, "name": "step", "begin": t} for n, t in enumerate(recorder.marks)]
    writer.append_rows("marks", marks)
    writer.seal({"run_id": name, "started": _EPOCH, "ended": clock.now(), "ending": "exit"})


def main() -> None:
    folder, *names = sys.argv[1:]
    for name in names or PROGRAMS:
        record(Path(folder), name, PROGRAMS[name])


if __name__ == "__main__":
    main()

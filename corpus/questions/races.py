"""Cases of races: a kernel with one launch, kvtrace's answer, and models of the truth.

Truth comes in two models. `clash_free` takes what threads touch between barriers. `outcomes` takes
threads as generators of memory operations and runs them in all orders, where a store may arrive
late until its own thread releases.
"""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

import kvtrace
from corpus.case import Answer, Case

Arguments = Callable[[], tuple[Any, ...]]
Grid = tuple[int, ...]

ATTACKS: dict[str, "Attack"] = {}
_CASES: dict[str, list[Case]] = defaultdict(list)


@dataclass(frozen=True)
class Attack:
    """A kernel with the arguments of one launch, and the rule by which it is judged."""

    rule: str
    kernel: Any
    grid: Grid
    arguments: Arguments
    options: dict[str, Any] = field(default_factory=dict)

    def launch(self, device: str = "cpu") -> list[torch.Tensor]:
        """Launch the kernel on new tensors of a device, and return these tensors."""
        with torch.device(device):
            arguments = self.arguments()
        self.kernel[self.grid](*arguments, **self.options)
        return [argument for argument in arguments if isinstance(argument, torch.Tensor)]

    def ask(self) -> Answer:
        """Record the launch, judge it by the attack's rule alone, and return the answer."""
        with tempfile.TemporaryDirectory() as folder:
            # Launches of kernels that were compiled before are recorded as well.
            with kvtrace.capture(folder):
                self.launch()
            trace = kvtrace.open(folder)
            trace.sanitize(self.rule)
            verdicts = {row["verdict"] for row in trace.findings if row["rule"] == self.rule}
        if "violation" in verdicts:
            return Answer.NO
        return Answer.UNKNOWN if "unknown" in verdicts else Answer.YES


def attack(rule: str) -> Callable[..., Callable[[Any], Any]]:
    """Return a function `case`, whose decorators add a case of a kernel for this rule."""

    def case(
        name: str,
        right: bool,
        why: str,
        arguments: Arguments,
        truth: Callable[[], bool] | None = None,
        grid: Grid = (1,),
        **options: Any,
    ) -> Callable[[Any], Any]:
        def decorated(kernel: Any) -> Any:
            assert name not in ATTACKS, name
            ATTACKS[name] = attacked = Attack(rule, kernel, grid, arguments, options)
            evidence = "evaluated" if truth else "read"
            of_file = _CASES[kernel.fn.__module__]
            of_file.append(Case(name, right, why, attacked.ask, truth, evidence))
            return kernel

        return decorated

    return case


def cases_of(module: str) -> list[Case]:
    """Return the cases whose kernels are in a module."""
    return _CASES[module]


within = attack("race-within-program")
between = attack("race")


@dataclass(frozen=True)
class Touch:
    """One thread's access of one address, between two barriers."""

    phase: int
    thread: int
    kind: str
    """r: load, w: store, a: atomic."""
    address: int
    value: Any = None
    """What a store leaves, where several may leave the same."""


def clash_free(touches: Iterable[Touch]) -> bool:
    """Return whether no two threads touch an address in one phase with at least one store."""
    groups: dict[tuple[int, int], list[Touch]] = defaultdict(list)
    for touch in touches:
        groups[touch.phase, touch.address].append(touch)
    return all(map(_harmless, groups.values()))


def _harmless(group: Sequence[Touch]) -> bool:
    kinds = {touch.kind for touch in group}
    if len({touch.thread for touch in group}) == 1 or kinds in ({"r"}, {"a"}):
        return True
    values = [touch.value for touch in group]
    return kinds == {"w"} and values[0] is not None and len(set(values)) == 1


def thread(lane: int, each: int = 4, threads: int = 128) -> int:
    """Return the thread that has a lane, in a layout of `each` consecutive lanes per thread."""
    return lane // each % threads


def one_program(lanes: int, *steps: "Step") -> bool:
    """Return whether the lanes of one program can execute `steps` without clashes.

    A step is "|", a barrier, or a kind of access with the address of each lane (None: masked).
    """
    touches, phase = [], 0
    for step in steps:
        if isinstance(step, str):
            phase += 1
            continue
        kind, address = step
        places = ((lane, address(lane)) for lane in range(lanes))
        touches += [
            Touch(phase, thread(lane), kind, place) for lane, place in places if place is not None
        ]
    return clash_free(touches)


Step = str | tuple[str, Callable[[int], int | None]]

Operation = tuple[Any, ...]
Thread = Callable[[], Generator[Operation, Any, None]]


def outcomes(threads: Sequence[Thread], memory: dict[Any, int]) -> set[tuple[Any, ...]]:
    """Return all final memories of the threads, over all orders of their operations.

    Operations: ("load", place), ("store", place, value), ("add", place, number, releases),
    ("cas", place, expected, new, releases), ("wait", place, value), and ("bar", name, count), where
    as many threads meet. A store arrives at any time, but before the next releasing operation or
    barrier of its thread, and is seen by its own thread at once.
    """
    start = (
        tuple(() for _ in threads),
        tuple(sorted(memory.items(), key=repr)),
        tuple(() for _ in threads),
    )
    pending, visited, ends = [start], {start}, set()
    while pending:
        histories, cells, buffers = pending.pop()
        nexts = list(_next_states(threads, histories, dict(cells), buffers))
        if not nexts and all(
            _operation(*pair) is None for pair in zip(threads, histories, strict=True)
        ):
            ends.add(cells)
        for state in nexts:
            if state not in visited:
                visited.add(state)
                pending.append(state)
    return ends


def same_end(threads: Sequence[Thread], memory: dict[Any, int]) -> bool:
    """Return whether all orders of the threads' operations lead to the same final memory."""
    return len(outcomes(threads, memory)) == 1


def _operation(body: Thread, history: tuple[Any, ...]) -> Operation | None:
    generator = body()
    try:
        operation = next(generator)
        for answer in history:
            operation = generator.send(answer)
    except StopIteration:
        return None
    return operation


def _next_states(
    threads: Sequence[Thread],
    histories: tuple[Any, ...],
    memory: dict[Any, int],
    buffers: tuple[Any, ...],
) -> Iterable[tuple[Any, ...]]:
    def state(
        answers: dict[int, Any], cells: dict[Any, int], buffer: dict[int, Any] | None = None
    ) -> tuple[Any, ...]:
        grown = tuple(
            (*history, answers[i]) if i in answers else history
            for i, history in enumerate(histories)
        )
        late = tuple((buffer or {}).get(i, stores) for i, stores in enumerate(buffers))
        return grown, tuple(sorted(cells.items(), key=repr)), late

    at_barriers: dict[Any, list[int]] = defaultdict(list)
    for i, body in enumerate(threads):
        for k, (place, value) in enumerate(buffers[i]):
            if all(other != place for other, _ in buffers[i][:k]):
                later_stores = buffers[i][:k] + buffers[i][k + 1 :]
                yield state({}, {**memory, place: value}, {i: later_stores})
        match _operation(body, histories[i]):
            case ("load", place):
                own_values = [value for other, value in buffers[i] if other == place]
                yield state({i: own_values[-1] if own_values else memory[place]}, memory)
            case ("store", place, value):
                yield state({i: None}, memory, {i: (*buffers[i], (place, value))})
            case ("add", place, number, releases) if not (releases and buffers[i]):
                old_value = memory[place]
                yield state({i: old_value}, {**memory, place: old_value + number})
            case ("cas", place, expected, new, releases) if not (releases and buffers[i]):
                old_value = memory[place]
                yield state(
                    {i: old_value}, {**memory, place: new} if old_value == expected else memory
                )
            case ("wait", place, value) if memory[place] == value:
                yield state({i: None}, memory)
            case ("bar", name, count) if not buffers[i]:
                at_barriers[name, count].append(i)
    for (_, count), waiting in at_barriers.items():
        if len(waiting) == count:
            yield state(dict.fromkeys(waiting), memory)

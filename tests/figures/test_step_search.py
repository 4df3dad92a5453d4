"""Steps are found in what a program requests, whatever is beside them; layers are no steps."""

import numpy as np
import pytest

from kvtrace.figures.step_search import Requests, step_bounds
from tests.support.replacing import replace

#: Kinds of requests of the programs below; copies do not count, `adam` is an optimizer's.
KINDS = (*"abcdefghijklmnopqrstuvwxyz", "copy", "adam", "graph")
LAYER = ["a", "b", "c", "d", "b", "e", "f", "g"]
HEAD = ["h", "i", "j", "k"]
FORWARD = ["l", *LAYER * 12, *HEAD]
BACKWARD = ["m", *["n", "o", "p", "q", "o", "r", "s"] * 12]
TRAINING = [*FORWARD, *BACKWARD, "adam", "adam"]


def requests(*steps, threads=(), nodes=1):
    """Requests that are 1 µs apart, with a pause of 1 ms before each step; their first is at 0.

    A graph has so many nodes.
    """
    kind = [KINDS.index(name) for step in steps for name in step]
    firsts = np.cumsum([0, *map(len, steps)])[:-1]
    apart = np.full(len(kind), 1_000)
    apart[firsts] = 1_000_000
    names = [name for step in steps for name in step]
    thread = np.array([int(name in threads) for name in names])
    counted = np.array([name != "copy" for name in KINDS])
    optimizing = np.array([name == "adam" for name in KINDS])
    time = np.cumsum(apart)
    work = np.array([nodes if name == "graph" else 1 for name in names])
    return Requests(time, np.array(kind), thread, work, counted, optimizing), time[firsts]


def found(*steps, threads=(), nodes=1):
    """Positions in `steps` at which a step was found to begin."""
    sequence, begins = requests(*steps, threads=threads, nodes=nodes)
    bounds = step_bounds(sequence)
    if bounds is None:
        return None
    return [int(np.searchsorted(begins, bound)) for bound in bounds]


def test_a_forward_of_twelve_layers_is_one_step():
    assert found(*[FORWARD] * 20) == list(range(21))


def test_steps_of_training_on_two_threads_are_found():
    backward = set(BACKWARD) - set(FORWARD)
    assert found(*[TRAINING] * 20, threads=backward) == list(range(21))


def test_start_up_is_no_step():
    start = ["v", "w", "x", "y"] * 30
    assert found(start, *[TRAINING] * 20) == list(range(1, 22))


def test_first_step_that_differs_is_left_out():
    first = [*TRAINING, *["t", "u"] * 40]
    assert found(first, *[TRAINING] * 20)[-20:] == list(range(2, 22))


@pytest.mark.parametrize("extra", [["t"], ["copy"] * 40, ["t"] * 30])
def test_a_step_that_logs_now_and_then_is_a_step(extra):
    steps = [TRAINING + extra * (number % 5 == 4) for number in range(40)]
    assert found(*steps) == list(range(41))


def test_an_evaluation_each_ten_steps_is_part_of_a_step():
    steps = [TRAINING + FORWARD * 3 * (number % 10 == 9) for number in range(60)]
    assert found(*steps) == list(range(61))


def test_gradients_of_four_batches_are_one_step():
    step = [*(FORWARD + BACKWARD) * 4, "adam"]
    assert found(*[step] * 15) == list(range(16))


def test_replays_of_graphs_are_steps_with_what_is_beside_them():
    assert found(*[["graph", "graph", "a", "b", "adam"]] * 30) == list(range(31))


def test_decoding_after_a_prefill_is_in_steps_of_a_token():
    prefill = ["u", "v", *LAYER * 12, "w", *HEAD]
    assert found(prefill, *[FORWARD] * 40) == list(range(1, 42))


@pytest.mark.parametrize("prompt", [[], [*HEAD, *["v"] * 9]])
def test_parts_of_answers_of_one_length_are_no_steps(prompt):
    answer = [*prompt, *FORWARD * 20, *["x", "y"] * 4]
    assert found(["z"] * 9, *[answer] * 6) == list(range(1, 8))


@pytest.mark.parametrize(("start", "expected"), [(["z"] * 9, 10), ([], 9)])
def test_first_step_begins_where_start_up_ends_despite_pauses_inside(start, expected):
    """Without start-up, the recording may have begun inside a step."""
    sequence, _ = requests(start, *[FORWARD[40:] + FORWARD[:40]] * 10)
    paused = (np.arange(sequence.time.size) - len(start)) % len(FORWARD) == len(FORWARD) - 40
    later = replace(sequence, time=sequence.time + 10_000_000 * np.cumsum(paused))
    bounds = step_bounds(later)
    assert bounds.size - 1 == expected


def test_requests_of_another_thread_in_any_order_do_not_matter():
    random = np.random.default_rng(0)
    steps = []
    for _ in range(30):
        step = list(TRAINING)
        for name in ("copy", "copy", "z"):
            step.insert(int(random.integers(1, len(step))), name)
        steps.append(step)
    assert found(*steps, threads={"z"}) == list(range(31))


def test_what_does_not_repeat_has_no_steps():
    random = np.random.default_rng(0)
    names = [KINDS[number] for number in random.integers(0, 26, 3_000)]
    assert found(names) is None
    assert found(*[TRAINING] * 3) is None


def test_most_requests_are_no_step_where_they_are_start_up():
    random = np.random.default_rng(0)
    names = [KINDS[number] for number in random.integers(0, 26, 30_000)]
    assert found(names, *[TRAINING] * 10) is None


@pytest.mark.parametrize(("nodes", "expected"), [(180, list(range(4, 64))), (1, None)])
def test_replays_count_with_the_work_of_their_nodes(nodes, expected):
    """Four eager steps of warm-up are more requests than sixty replays, and less work."""
    replays = [["copy", "graph", "copy"]] * 60
    assert found(*[TRAINING] * 4, *replays, nodes=nodes) == expected

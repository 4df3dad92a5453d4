"""Modules of backward launches, beside what autograd's own numbers and hooks of modules say.

A small model trains for real. Each operator that it runs makes a request, as if it launched a
kernel.
"""

import sys
import threading
from collections import Counter

import numpy as np
import pytest

from kvtrace.backends.cupti import _requests, node_stacks
from kvtrace.backends.cupti.host_events import Requests
from kvtrace.backends.cupti.node_stacks import NO_NODE, NodeStacks
from kvtrace.capture.records import Frame
from kvtrace.figures.modules import module_rows, node_row
from tests.backends.cupti.driver_requests import LAUNCH, ask
from tests.support.attention_model import WIDTH, Attention, Block

torch = pytest.importorskip("torch")
nn = torch.nn

from torch.nn import functional as F  # noqa: E402 - after importorskip
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

#: Operators that launch nothing.
VIEWS = {
    "view", "t", "transpose", "permute", "expand", "detach", "_unsafe_view", "unsqueeze", "split",
    "slice", "select", "alias", "as_strided", "squeeze", "_reshape_alias", "narrow", "unbind",
}  # fmt: skip


class Doubled(nn.Module):
    """A module whose inner module is called twice, with a split in between, which is a view."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        first, second = self.shared(x).split(WIDTH // 2, -1)
        return self.shared(torch.cat((second.sin(), first), -1))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.doubled, self.block = Attention(), Doubled(), Block()

    def forward(self, x, reentrant):
        x = self.doubled(self.attention(x))
        return checkpoint(self.block, x, use_reentrant=reentrant)


class Launches(TorchDispatchMode):
    """Makes a request for each operator, and notes what autograd and the modules' hooks say."""

    def __init__(self, *modules):
        super().__init__()
        self.inside = []
        #: by thread and number of a node: the classes of the modules around its operator
        self.made = {}
        self.backward = []
        for module in modules:
            for part in module.modules():
                part.register_forward_pre_hook(self.enter)
                part.register_forward_hook(self.leave, always_call=True)

    def run(self, out):
        """Run the backward in this thread, which has not made the nodes."""
        (torch.ones(1, requires_grad=True) * 2).sin()  # so that its numbers are others
        with self:
            out.backward()

    def enter(self, module, _inputs):
        self.note_nodes()
        self.inside.append(type(module).__name__)

    def leave(self, _module, _inputs, _output):
        self.note_nodes()
        self.inside.pop()

    def note_nodes(self):
        """Note the modules of all nodes that this thread has made since the last time.

        Those that are made in a backward are the checkpoint's, which is called in the model.
        """
        outside = () if torch._C._current_autograd_node() is None else ("Model",)
        for number in range(torch.autograd._get_sequence_nr() - 1, -1, -1):
            if number in self.made:
                break
            self.made[number] = (*outside, *self.inside)

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.note_nodes()
        if operator.overloadpacket.__name__ not in VIEWS:
            node = torch._C._current_autograd_node()
            if node is not None:
                self.backward.append((node.name(), node._sequence_nr(), tuple(self.inside)))
                ask(LAUNCH, len(self.backward))
            else:
                ask(LAUNCH, 1 << 20)
        return operator(*args, **(kwargs or {}))


@pytest.fixture
def requests():
    made = Requests(_requests)
    yield made
    _requests.forget()


def classes(requests, stack):
    functions = [frame.function for frame in requests.frames(stack)]
    functions = functions[node_row(functions) :]
    rows = reversed(module_rows(functions))
    return tuple(functions[row].removesuffix(".forward") for row in rows)


@pytest.mark.parametrize(("reentrant", "in_thread"), [(False, False), (True, False), (False, True)])
def test_each_backward_launch_has_the_module_in_which_autograd_made_its_node(
    requests, reentrant, in_thread
):
    # given a training step with attention, a module called twice, a checkpoint and a functional op
    model = Model()
    x = torch.ones(2, 8, WIDTH, requires_grad=True)
    requests.take()
    with Launches(model) as launches:
        out = F.gelu(model(x * 2, reentrant)).square().mean()
        launches.note_nodes()
        if not in_thread:
            out.backward()
    if in_thread:  # as autograd's threads of devices do; each thread numbers its own nodes
        thread = threading.Thread(target=launches.run, args=(out,))
        thread.start()
        thread.join()
    requests.take()
    assert requests.nodeless is None
    count = len(launches.backward)
    _, own, of_node = requests.of(np.arange(1, count + 1))
    wrong, outer, told = [], Counter(), Counter()
    for row, (name, number, inside) in enumerate(launches.backward):
        computed_again = classes(requests, int(own[row]))
        assert computed_again == inside
        if computed_again:
            continue
        if name.endswith("AccumulateGrad"):  # no operator of the forward made it
            assert of_node[row] == 0
            continue
        path, made = classes(requests, int(of_node[row])), launches.made[number]
        told[path] += 1
        if not of_node[row] or path != made[: len(path)]:
            wrong.append((name, number, path, made))
        elif path != made:
            outer[name] += 1
    # then every node has the module of its forward, or an outer one if its forward was a view
    assert wrong == []
    assert set(outer) <= {"ViewBackward0", "TBackward0"}
    assert sum(outer.values()) <= 0.1 * sum(told.values())
    attention = ("Model", "Attention")
    assert {attention, (*attention, "Linear"), ("Model", "Doubled"), ()} <= told.keys()
    assert any(path[-2:] == ("Block", "Attention") for path in told)
    assert count > 50


def test_reading_a_running_node_leaves_its_count_of_owners(requests):
    requests.take()
    leaf = torch.ones(1, requires_grad=True)
    middle = leaf * 2
    counts = []

    def hook(_gradient):
        node = middle.grad_fn
        shared = node_stacks._layout_of(node)
        for _ in range(100):
            counts.append(node_stacks._owners(node, shared))
            ask(LAUNCH, 1)

    middle.register_hook(hook)
    (middle * 3).backward()
    assert len(counts) == 100
    assert len(set(counts)) == 1


def test_without_torch_nothing_is_followed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert node_stacks.find_autograd(_requests) is False


def test_other_layout_of_nodes_is_detected_before_reading(requests, monkeypatch):
    monkeypatch.setattr(node_stacks, "_NUMBERS", {True: 5 * 8, False: 6 * 8})
    requests.take()
    assert "keeps autograd's nodes in another way" in requests.nodeless
    leaf = torch.ones(1, requires_grad=True)
    (leaf * 2).register_hook(lambda _gradient: ask(LAUNCH, 1))
    requests.take()


def test_numbers_of_the_program_s_nodes_stay_as_they_were(requests):
    before = torch.autograd._get_sequence_nr()
    requests.take()
    assert torch.autograd._get_sequence_nr() == before
    assert threading.active_count() >= 1


CALL = "Module._call_impl"


def frames_of(*functions):
    return tuple(Frame("m.py", 1, None, function) for function in functions)


STACKS = {
    0: (),
    5: frames_of("linear", "Linear.forward", CALL, "Block.forward", CALL, "main"),
    6: frames_of("Norm.forward", CALL, "Block.forward", CALL, "main"),
    7: frames_of(
        "Norm.forward", CALL, "f.forward", "Function.apply", "Block.forward", CALL, "main"
    ),
    8: frames_of("Norm.forward", CALL, "f.backward", "BackwardCFunction.apply"),
}


def launches_of(*rows):
    """Rows of (stack, next number, running node or None), all of thread 1."""
    fields = [("stack", "<u8"), ("next", "<u8"), ("node", "<u8"), ("here", "<u4"), ("maker", "<u4")]
    content = [
        (stack, following, NO_NODE if node is None else node, 1, 1)
        for stack, following, node in rows
    ]
    return np.asarray(content, fields)


def test_node_without_a_launch_has_what_two_launches_share():
    nodes = NodeStacks(STACKS.__getitem__)
    nodes.add(launches_of((5, 41, None), (6, 44, None), (6, 45, None)))
    found = nodes.add(launches_of((0, 0, 40), (0, 0, 41), (0, 0, 43), (0, 0, 44), (0, 0, 45)))
    assert found.tolist() == [5, -1, 6, 6, 0]
    functions = [frame.function for frame in nodes.frames(-1)]
    assert functions == [CALL, "Block.forward", CALL, "main"]


def test_derivatives_of_derivatives_have_the_module_of_the_first_forward():
    nodes = NodeStacks(STACKS.__getitem__)
    assert nodes.add(launches_of((5, 10, None), (0, 20, 9), (0, 0, 19))).tolist() == [0, 5, 5]


def test_nodes_of_a_forward_that_is_computed_again_have_its_stack():
    nodes = NodeStacks(STACKS.__getitem__)
    found = nodes.add(launches_of((7, 10, None), (8, 20, 9), (0, 0, 19)))
    assert found.tolist() == [0, 7, -1]
    functions = [frame.function for frame in nodes.frames(-1)]
    assert [functions[row] for row in module_rows(functions)] == ["Norm.forward", "Block.forward"]


def test_nodes_of_many_rounds_have_the_stacks_of_one_round(monkeypatch):
    # given launches in the order of their nodes, but for some that come late
    random = np.random.default_rng(5)
    numbers = np.sort(random.integers(0, 9000, 4000))
    numbers[::37] -= 5
    stacks = random.integers(1, 50, 4000)

    # when they are added at once, and in batches
    at_once, in_batches = node_stacks._MadeNodes(), node_stacks._MadeNodes()
    at_once.add(numbers, stacks)
    for rows in np.array_split(np.arange(4000), 60):
        in_batches.add(numbers[rows], stacks[rows])

    # then each node has the same stacks, and the newest are left where room is lacking
    for one, many in zip(at_once.columns, in_batches.columns, strict=True):
        assert one.tolist() == many.tolist()
    monkeypatch.setattr(node_stacks, "_LIMIT", 100)
    limited = node_stacks._MadeNodes()
    for rows in np.array_split(np.arange(4000), 60):
        limited.add(numbers[rows], stacks[rows])
    count = len(limited.columns[0])
    assert 100 <= count <= 300
    assert limited.columns[0].tolist() == at_once.columns[0][-count:].tolist()

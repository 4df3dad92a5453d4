"""Plans as plain data and back: what is run and told is the same; and what must not be kept."""

import functools
import marshal
import math

import numpy as np
import pytest
import torch

from kvtrace.evaluate import Observer, evaluate
from kvtrace.evaluate.modules import read
from kvtrace.evaluate.plan import kept, launch
from kvtrace.evaluate.plan.kept import plain_plan, plan_of
from kvtrace.evaluate.plan.launch import plans_of
from kvtrace.evaluate.store import Store
from tests.kernels import basic
from tests.kernels.launching import bind
from tests.support.compile_ttir import compile_generic

N = 40
TYPES = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
TEXT = compile_generic(basic.vector_add, TYPES, {"BLOCK": 16})
GRID = (3, 1, 1)


class Told(Observer):
    """Everything that an evaluation tells, without the ops themselves."""

    def __init__(self):
        self.facts = []

    def op(self, op, executions, elements, flops):
        self.facts.append(("op", op.index, executions, elements, flops))

    def access(self, access):
        self.facts.append(
            (access.op.index, access.kind, access.active, access.lowest, access.formula,
             [fact.tolist() for fact in access.elements()])
        )  # fmt: skip

    def loop(self, op, trips):
        self.facts.append(("loop", op.index, trips.tolist()))


@pytest.fixture
def new_process(tmp_path, monkeypatch):
    """Keep plans in a folder; gives what begins anew with nothing in memory."""
    place = tmp_path / "cache"
    stores = [Store(place)]
    for module in ("kvtrace.evaluate.modules.store", "kvtrace.evaluate.plan.launch.store"):
        monkeypatch.setattr(module, lambda: stores[-1])

    def begin():
        stores[-1].flush()
        stores.append(Store(place))

    return begin


def launched(n=N, dtype=torch.float32, share=False):
    """Run vector_add; give the result, what was told, and how many plans were made."""
    made = []
    with pytest.MonkeyPatch.context() as patch:
        original = launch.ModulePlans._made

        def counted(self, *given):
            made.append(given)
            return original(self, *given)

        patch.setattr(launch.ModulePlans, "_made", counted)
        x = torch.arange(n, dtype=dtype)
        y = x if share else torch.ones(n, dtype=dtype)
        out = torch.empty(n, dtype=dtype)
        told = Told()
        arguments = bind(basic.vector_add, {"x": x, "y": y, "out": out, "n": n})
        evaluate(read(TEXT), arguments, GRID, observers=[told])
    assert torch.equal(out, x + y)
    return told.facts, len(made)


def test_the_next_process_runs_and_tells_the_same_without_planning(new_process):
    first, made = launched()
    assert made == 1
    new_process()
    again, made = launched()
    assert made == 0
    assert again == first
    assert any(fact[0] == "op" for fact in first)


def test_within_a_process_another_module_of_the_same_text_needs_no_plan(new_process):
    assert launched()[1] == 1
    assert launched()[1] == 0


@pytest.mark.parametrize("change", [{"n": 39}, {"share": True}])
def test_another_call_has_a_plan_of_its_own(new_process, change):
    launched()
    new_process()
    assert launched(**change)[1] == 1
    assert launched(**change)[1] == 0


def test_a_refusal_is_kept_too(new_process):
    x = torch.ones(8)
    arguments = bind(basic.vector_add, {"x": x, "y": x, "out": x, "n": 40})  # leaves its tensors
    plan = plans_of(read(TEXT)).plan(tuple(arguments), GRID)
    assert plan.refusal
    new_process()
    again = plans_of(read(TEXT)).plan(tuple(arguments), GRID)
    assert again.refusal == plan.refusal
    assert again is not plan


def test_an_entry_that_is_no_plan_is_made_anew():
    module = read(TEXT)
    for entry in (None, (), 5, (None, True, (), 3, (), ()), (None, True, (), (), ((1, 2),), ())):
        assert plan_of(entry, module) is None


def planned():
    arguments = bind(
        basic.vector_add, {"x": torch.ones(N), "y": torch.ones(N), "out": torch.ones(N), "n": N}
    )
    plans = plans_of(read(TEXT))
    plan = plans.plan(tuple(arguments), GRID)
    return plan, plans.counts(plan)


def test_plain_data_are_what_marshal_holds_and_come_back():
    plan, counts = planned()
    plain = plain_plan(plan, counts)
    back = plan_of(marshal.loads(marshal.dumps(plain)), read(TEXT))
    assert plain_plan(back, back.counts) == plain


@pytest.mark.parametrize(
    "value",
    [
        np.add, np.ndarray, np.copyto, np.maximum.reduce, np.float32(-math.inf), np.bool_(True),
        np.dtype(np.int8), np.float64(0.5), None, True, 5, 0.5, "text", (1, None),
        np.arange(6, dtype=np.int64).reshape(2, 3), np.full((), 2.5),
    ],
    ids=lambda value: value.__name__ if callable(value) else repr(value),
)  # fmt: skip
def test_what_code_refers_to_comes_back(value):
    back = kept._value_of(marshal.loads(marshal.dumps(kept._named(value))))
    if isinstance(value, np.generic | np.ndarray):
        assert back.dtype == value.dtype
        assert back.shape == value.shape
        assert np.array_equal(back, value)
    else:
        assert back == value


def test_a_function_with_arguments_comes_back():
    import ml_dtypes

    from kvtrace.evaluate.plan.kernels import ramp

    back = kept._value_of(kept._named(functools.partial(ramp, np.int64(5))))
    assert back.func is ramp
    assert back.args == (5,)
    assert kept._value_of(kept._named(np.dtype(ml_dtypes.bfloat16))) == ml_dtypes.bfloat16


@pytest.mark.parametrize(
    "value",
    [
        lambda array: array, math.sqrt, object(), np.zeros(1 << 20), np.array([None]),
        functools.partial(np.add, out=np.zeros(1)), {1: 2},
    ],
    ids=["lambda", "not ours", "object", "large", "objects", "keywords", "dictionary"],
)  # fmt: skip
def test_what_cannot_be_named_is_not_kept(value):
    with pytest.raises(ValueError, match=r"cannot be named|a large array"):
        kept._named(value)


def test_names_lead_to_files_of_the_evaluator_only():
    with pytest.raises(ValueError, match="no name of ours"):
        kept._value_of(("ours", "os", "system"))

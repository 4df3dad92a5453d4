"""Fields of arguments that are null: no verdict becomes stronger without one."""

import pytest

from kvtrace.evaluate import parsed
from kvtrace.recorded_calls.arguments import CannotReplay
from kvtrace.recorded_calls.reading import call_of
from kvtrace.schema.row_types import Argument
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.rules.table import RULES
from kvtrace.verdicts.unknown_fields import RULE_FIELDS, STANDS_IN
from tests.support.foreign_producer import COPY

#: The kernel that copies eight elements from x to y, compiled for pointers that 16 divides.
HINTS = b"arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], "
MODULE = parsed(COPY.replace(b"<{function_type", b"<{" + HINTS + b"function_type").decode(), "")
KERNEL = {"name": "copy", "signature": [{"name": n, "type": "*fp32"} for n in "xy"]}
ROW = {"call_id": 0, "grid_x": 2, "grid_y": 1, "grid_z": 1}
STRENGTH = ("violation", "unknown", "proven")
FIELDS = sorted(Argument.__annotations__.keys() - {"kind", "scalar", "value_artifact"})
#: Fields that no rule reads.
UNREAD = {"device"}


def argument(name, **fields):
    return {
        "name": name, "kind": "tensor", "dtype": "fp32", "device": "cuda:0", "shape": [8],
        "strides": [1], "offset_bytes": 0, "storage_bytes": 64, "alias_group": 0, "alignment": 0,
        "scalar": None, "value_artifact": None, **fields,
    }  # fmt: skip


#: Calls that break rules: y overlaps x, its pointer is 2 bytes past a multiple of 16, its view or
#: its storage ends too early.
CALLS = {
    "overlap": (argument("x"), argument("y", offset_bytes=4, alignment=4)),
    "alignment": (argument("x"), argument("y", alias_group=1, alignment=2)),
    "view": (argument("x"), argument("y", alias_group=1, shape=[7])),
    "storage": (argument("x"), argument("y", alias_group=1, shape=[7], storage_bytes=28)),
}


def verdicts(args):
    """The weakest verdict of each rule; all are unknown of a call that cannot be judged."""
    try:
        call = call_of({**ROW, "args": list(args)}, KERNEL, MODULE, lambda _: None)
    except CannotReplay:
        return dict.fromkeys(RULES, "unknown")
    found: dict[str, str] = {}
    for verdict in judge(call):
        weakest = min(
            STRENGTH.index(verdict.verdict), STRENGTH.index(found.get(verdict.rule, "proven"))
        )
        found[verdict.rule] = STRENGTH[weakest]
    return found


def test_the_calls_break_the_rules_that_read_fields():
    broken = {
        name: {r for r, v in verdicts(args).items() if v == "violation"}
        for name, args in CALLS.items()
    }
    assert broken["overlap"] == {"race", "race-within-program", "wrong-hint"}
    assert broken["alignment"] == {"misaligned", "wrong-hint"}
    assert broken["view"] == {"out-of-view"}
    assert broken["storage"] == {"out-of-bounds"}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", CALLS)
def test_no_verdict_is_stronger_for_a_null_field(name, field):
    known = verdicts(CALLS[name])
    unknown = verdicts({**arg, field: None} for arg in CALLS[name])
    for rule, verdict in known.items():
        # An access that may leave its storage has no verdict on its view.
        rules = (rule, "out-of-bounds") if rule == "out-of-view" else (rule,)
        answers = {unknown.get(each, "proven") for each in rules}
        assert verdict == "proven" or answers & {"violation", "unknown"}


@pytest.mark.parametrize("rule", RULE_FIELDS)
def test_rules_that_read_fields_are_rules(rule):
    assert rule in RULES
    assert set(RULE_FIELDS[rule]) <= set(STANDS_IN)


def test_the_reason_names_the_field_and_the_arguments():
    args = [{**arg, "alias_group": None} for arg in CALLS["overlap"]]
    (race,) = [
        v
        for v in judge(call_of({**ROW, "args": args}, KERNEL, MODULE, lambda _: None))
        if v.rule == "race"
    ]
    assert (race.verdict, race.reason) == (
        "unknown",
        "the trace does not have the alias_group of x, y",
    )


def test_one_tensor_shares_memory_with_none():
    text = COPY.replace(b"(%arg1)", b"(%arg0)").replace(b", %arg1: !tt.ptr<f32>", b"")
    text = text.replace(b"(!tt.ptr<f32>, !tt.ptr<f32>) -> ()", b"(!tt.ptr<f32>) -> ()")
    kernel = {"name": "copy", "signature": KERNEL["signature"][:1]}
    row = {**ROW, "args": [argument("x", alias_group=None)]}
    found = judge(call_of(row, kernel, parsed(text.decode(), ""), lambda _: None))
    assert any(verdict.rule == "race" for verdict in found)
    assert not any("alias_group" in (verdict.reason or "") for verdict in found)


def test_the_table_has_each_field_that_is_read():
    assert {*FIELDS, "scalar"} - UNREAD == set(STANDS_IN)

"""Sentences on the operators that made an argument's bytes."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kvtrace.addons.check.writers import Launch, Operation, Writers, storage_text, writers_text
from kvtrace.schema.layout import new_run_id
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.support.replacing import replace


def calls(*names_and_lines: str, file: str = "train.py") -> tuple[Operation, ...]:
    """Calls of operators, as "mul_:4"; "mul_:4 add_:5" are two."""
    pairs = [text.split(":") for text in names_and_lines]
    return tuple(Operation(n, f"aten::{name}", (), file, int(line))
                 for n, (name, line) in enumerate(pairs))  # fmt: skip


def made(*names_and_lines: str, **file: str) -> Writers:
    """A storage that operators made and wrote, and no launch."""
    return Writers(calls(*names_and_lines, **file), source="")


def text(before: Writers, after: Writers) -> str:
    return storage_text("x", before, after, ("before", "now"))


def test_an_extra_call_is_named_at_its_own_line_in_another_folder_too():
    before = made("clone:2", "add_:4", "mul_:5", file="old/train.py")
    after = made("clone:2", "mul_:3", "add_:4", "mul_:5")
    assert text(before, after) == "x was computed by aten::mul_ at train.py:3 only now"
    assert text(after, before).startswith("x was computed by aten::mul_ at train.py:3 only before")


def test_nothing_is_called_extra_where_earlier_calls_are_left_out():
    before, after = made("add_:4", "neg_:5"), made("add_:4", "add_:4")
    assert text(before, after).endswith("at train.py:4 now, by aten::neg_ at train.py:5 before")
    assert text(before, made(*["add_:4"] * 32)) == ""


def test_bytes_without_a_recorded_writer_may_be_of_the_host():
    said = made("empty:2").unwritten_text("x")
    assert said.endswith("made it: uninitialized memory, unless the host or an extension wrote it")
    assert made("empty:2", "copy_:3").unwritten_text("x") == ""
    assert Writers(calls("empty:2"), source="launch 1 of add").unwritten_text("x") == ""
    said = text(made("empty:2", "copy_:3"), made("empty:2"))
    assert said.startswith("x was computed by aten::copy_ at train.py:3 only before; no recorded")


def test_the_result_of_another_launch_or_tensor_is_named():
    launched = Writers((), source="launch 2 of add")
    assert text(launched, made("randn:3")) == (
        "x is what aten::randn at train.py:3 left now, and what launch 2 of add left before"
    )
    assert text(launched, replace(launched, operations=calls("add_:4"))) == (
        "x was computed by aten::add_ at train.py:4 only now"
    )
    (call,) = calls("randn:3")
    first, other, of_five = (
        Writers((replace(call, ordinal=ordinal),), source="")
        for ordinal in ((1, 4), (2, 4), (2, 5))
    )
    assert text(first, other).startswith("x was made by call 2 of aten::randn at train.py:3 now")
    assert text(first, of_five) == ""  # which of them is it?


def test_operators_in_another_order_are_no_equal_ones():
    assert text(made("zeros:1", "add_:2", "mul_:3"), made("zeros:1", "mul_:2", "add_:3")) == (
        "x was computed by aten::mul_ at train.py:2 now where aten::add_ at train.py:2 came before"
    )


def recorded(out: Path, calls: Sequence[tuple[str, str, int]], end: str = "before",
             allocated: int = 0) -> Launch:  # fmt: skip
    """Return a launch at 90 us; operators (name, role, at) and one at 50 us had its tensor, too.

    `end`: when the last digest of the one at 50 us was taken, after it if it wrote the tensor.
    """
    arg = {"name": "x", "offset_bytes": 0, "storage_bytes": 16}
    x = arg | {"device": 0, "dtype": "fp32", "shape": [4], "strides": [1]}
    number = x | {"name": "other", "role": "read", "dtype": "fp64", "shape": [], "device": None}
    digests = [("before", 1), (end, 2)][: 1 if end == "before" else 2]
    rows = {
        "runs": [{"command": "python train.py"}],
        "calls": [{"call_id": 0, "args": [{"kind": "scalar"}, arg | {"kind": "tensor"}]}],
        "launches": [{"seq": n, "call_id": 0, "enter": at(time), "addresses": [64]}
                     for n, time in enumerate((50, 90))],
        "digests": [{"seq": 0, "call_id": 0, "arg": 1, "when": when, "digest": digest, "lines": 1}
                    for when, digest in digests],
        "operators": [{"operator_id": n, "name": f"aten::{name}",
                       "tensors": [x | {"role": role}, number]}
                      for n, (name, role, _) in enumerate(calls)],
        "operations": [{"record": n, "operator_id": n, "begin": at(time), "end": at(time + 1),
                        "addresses": [128 if time == 5 else 64, 128]}
                       for n, (_, _, time) in enumerate(calls)],
        "allocations": [{"record": 0, "address": 64, "begin": at(allocated)}][: allocated],
    }  # fmt: skip
    writer = RunWriter(out, new_run_id())
    for table, content in rows.items():
        writer.append_rows(table, content)
    writer.seal({"ended": at(1000), "ending": "exit"})
    return open_trace(out), open_trace(out).runs[0], 1, {0: "launch 1 of add"}


def at(microsecond: int) -> int:
    return 1_800_000_000_000_000_000 + microsecond * 1000


MADE, SCALED, ADDED = ("zeros", "created", 10), ("mul_", "written", 20), ("add_", "written", 60)
AGAIN = ("ones", "created", 45)
HOST = "; what the host itself writes is not recorded"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (([MADE],), ([MADE, SCALED],), "x was computed by aten::mul_ only now" + HOST),
        (([MADE], "after"), ([MADE, SCALED, ADDED], "after"),
         "x was computed by aten::add_ only now" + HOST),
        (([("full", "created", 5), MADE],), ([("sum", "created", 5), MADE],),
         "the same operators computed x (aten::zeros), so one got other scalars, random numbers "
         "or inputs, as from the host, or is not deterministic"),
        (([MADE], "after"), ([MADE, SCALED], "after"), ""),  # the launch wrote it after that
        (([MADE], "before", 10), ([MADE, SCALED], "before", 40), ""),  # by whom, is not known
        (([MADE], "before", 10), ([MADE, SCALED, AGAIN], "before", 45),
         "x was computed by aten::ones now, by aten::zeros before" + HOST),
    ],
)  # fmt: skip
def test_a_storage_is_followed_and_not_its_address(tmp_path, before, after, said):
    """Launches that only read it wrote nothing, and allocated again it is another tensor."""
    sides = recorded(tmp_path / "a", *before), recorded(tmp_path / "b", *after)
    assert writers_text(sides, 1, "x", ("before", "now")) == said

"""Sentences on the operators that made an argument's bytes."""

from kvtrace.addons.check.writers import Operation, Writers, writers_text


def calls(*names_and_lines: str, file: str = "train.py") -> tuple[Operation, ...]:
    """Calls of operators, as "mul_:4"; "mul_:4 add_:5" are two."""
    pairs = [text.split(":") for text in names_and_lines]
    return tuple(Operation(n, f"aten::{name}", (), file, int(line))
                 for n, (name, line) in enumerate(pairs))  # fmt: skip


def text(before: Writers, after: Writers) -> str:
    return writers_text("x", before, after, ("before", "now"))


def test_an_extra_call_is_named_at_its_own_line_in_another_folder_too():
    before = Writers(calls("clone:2", "add_:4", "mul_:5", file="old/train.py"))
    after = Writers(calls("clone:2", "mul_:3", "add_:4", "mul_:5"))
    assert text(before, after) == "x was computed by aten::mul_ at train.py:3 only now"
    assert text(after, before).startswith("x was computed by aten::mul_ at train.py:3 only before")


def test_nothing_is_called_extra_where_earlier_calls_are_left_out():
    before, after = calls("add_:4", "neg_:5"), calls("add_:4", "add_:4")
    assert "only now" in text(Writers(before), Writers(after))
    assert text(Writers(before), Writers(after, is_cut=True)) == ""


def test_bytes_without_a_recorded_writer_may_be_of_the_host():
    (made,) = calls("empty:2")
    said = text(Writers((made,), ("", made)), Writers((made,), ("", made)))
    assert said.endswith("made it: uninitialized memory, unless the host or an extension wrote it")

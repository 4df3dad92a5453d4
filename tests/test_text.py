"""Quantities, names and tables for terminals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.text import (
    amount,
    columns,
    display_width,
    duration,
    percent,
    plural,
    printable,
    shorten,
    size,
    wrapped,
)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(None, "-"), (0, "0 ns"), (999, "999 ns"), (1_000, "1 µs"), (12_345, "12.3 µs"),
     (1_234_567, "1.23 ms"), (61_000_000_000, "61.0 s"), (-1_500, "-1.50 µs")],
)  # fmt: skip
def test_durations(nanoseconds, text):
    assert duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [(size(None), "-"), (size(0), "0 B"), (size(1023), "1,023 B"), (size(1536), "1.50 KiB"),
     (size(2**70), "1,024 EiB"), (amount(2_100_000, "FLOP"), "2.10 MFLOP"), (amount(12), "12"),
     (percent(0.125), "12.5 %"), (plural(1, "launch"), "1 launch"),
     (plural(2_000, "launch"), "2,000 launches"), (plural(0, "row"), "0 rows")],
)  # fmt: skip
def test_other_quantities(found, text):
    assert found == text


@given(st.text())
def test_printable_text_has_no_control_character(text):
    assert printable(text).isprintable()


@given(st.text(st.characters(codec="utf-8")), st.integers(2, 40))
def test_shortened_text_fits_and_keeps_both_ends(text, width):
    short = shorten(printable(text), width)
    assert display_width(short) <= width
    if display_width(printable(text)) <= width:
        assert short == printable(text)
    else:
        assert "…" in short


@given(st.lists(st.tuples(st.text(), st.text(max_size=4)), max_size=5))
def test_columns_line_up(rows):
    # 4 characters are at most 40 when escaped, which leaves the first column its least width
    lines = columns(("name", "value"), rows, width=60)
    assert len(lines) == 1 + len(rows)
    assert all(line.isprintable() and display_width(line) <= 60 for line in lines)


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_wrapped_text_is_printable_and_loses_no_word(text):
    lines = wrapped(text, 40, 2)
    assert all(line.isprintable() for line in lines)
    assert "".join(" ".join(lines).split()) == "".join(printable(text).split())


def test_names_that_would_be_shortened_alike_are_written_out_above_their_rows():
    first, second = "chunk_local_cumsum_kernel", "chunk_gated_delta_kernel"
    lines = columns(("kernel", "bytes"), [(first, "1"), (second, "2"), ("swish", "3")], width=20)
    assert lines == [
        "kernel         bytes",
        "chunk_loc…sum_kernel",
        "                   1",
        "chunk_gat…lta_kernel",
        "                   2",
        "swish              3",
    ]

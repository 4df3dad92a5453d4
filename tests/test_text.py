"""Quantities, names and tables for terminals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.text import (
    amount,
    broken,
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


@given(st.lists(st.tuples(st.text(), st.text(max_size=4)), max_size=5), st.integers(60, 90))
def test_columns_line_up(rows, width):
    # 4 characters are at most 40 when escaped, which leaves the first column its least width
    lines = columns(("name", "value"), rows, width)
    assert len(lines) >= 1 + len(rows)
    assert all(line.isprintable() and display_width(line) <= width for line in lines)


NAMES = st.text("ab_<:", min_size=1, max_size=400)


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), st.integers(40, 120))
def test_two_names_never_look_alike(names, width):
    """Read each name's lines back: figures are on its first one alone."""
    lines = columns(("name", "value", "share"), [(n, "12 ms", "9 %") for n in names], width)
    shown, room = [], min(line.index("12 ms") for line in lines[1:] if "12 ms" in line)
    for line in lines[1:]:
        text = line[: room - 2].rstrip()
        if line.endswith("9 %"):
            shown.append(text)
        else:
            shown[-1] += text.removeprefix("  ")
    apart = {"".join(name.split()) for name in names}
    found = ["".join(text.split()) for text in shown]
    assert len(found) == len(names)
    assert len(set(found)) == len(apart)


def test_optional_columns_go_before_a_name_wraps_and_a_name_wraps_before_it_is_cut():
    name = "triton_poi_fused__to_copy_bmm_cat"
    row = (name, "Triton", "12", "1.50 ms")
    header = ("kernel", "library", "runs", "time")
    assert columns(header, [row], 58, optional=(1,)) == [
        "kernel                             library  runs     time",
        "triton_poi_fused__to_copy_bmm_cat   Triton    12  1.50 ms",
    ]
    assert columns(header, [row], 54, optional=(1,)) == [
        "kernel                             runs     time",
        "triton_poi_fused__to_copy_bmm_cat    12  1.50 ms",
    ]
    assert columns(header, [row], 36, optional=(1,)) == [
        "kernel                 runs     time",
        "triton_poi_fused__to_    12  1.50 ms",
        "  copy_bmm_cat",
    ]


def test_a_text_takes_the_room_of_an_empty_one_beside_it():
    rows = [("scale", "bytes", "1 KiB → 2 KiB"), ("copy", "source -1 +3 lines", "")]
    assert columns(("kernel", "what", "values"), rows, 40, texts=(0, 1, 2)) == [
        "kernel  what   values",
        "scale   bytes  1 KiB → 2 KiB",
        "copy    source -1 +3 lines",
    ]


@given(st.text(st.characters(codec="utf-8"), max_size=200), st.integers(4, 60))
def test_a_text_that_is_broken_loses_spaces_alone(text, width):
    lines = broken(printable(text), width)
    assert all(display_width(line) <= width for line in lines) or len(lines) == 1
    assert "".join("".join(lines).split()) == "".join(printable(text).split())


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_wrapped_text_is_printable_and_loses_no_word(text):
    lines = wrapped(text, 40, 2)
    assert all(line.isprintable() for line in lines)
    assert "".join(" ".join(lines).split()) == "".join(printable(text).split())


def test_names_that_would_be_shortened_alike_are_whole():
    names = [f"cudnn_generated_{'x' * 90}_{way}_{'y' * 90}" for way in ("forward", "backward")]
    lines = columns(("kernel", "bytes"), [(name, "1") for name in (*names, "swish")], width=40)
    text = "".join("".join(lines).split())
    assert all(name in text.replace("1", "") for name in names)

"""What run.py reads of the cache's state, and what of it may still be in a cache."""

import pytest

from kvtrace.addons.suite.cache import Cache, Touch, touch_of


@pytest.mark.parametrize(
    ("text", "touch"),
    [
        ("read 4096", Touch(False, 4096)),
        ("write 128 of x at 64", Touch(True, 128, "x", 64)),
        ("read 8 of a name at 0", Touch(False, 8, "a name", 0)),
    ],
)
def test_touches_are_read_from_their_texts(text, touch):
    assert touch_of(text) == touch


def test_another_text_is_refused():
    with pytest.raises(ValueError, match="'wipe 4' is not what a launch finds"):
        touch_of("wipe 4")


def test_only_the_latest_touches_are_made_again():
    cache = object.__new__(Cache)
    cache.size = 100
    old, large, new = Touch(True, 50), Touch(False, 500), Touch(True, 60, "x")

    assert cache._recent([old, large, new]) == [Touch(False, 140), new]
    assert cache._recent([old, new]) == [old, new]

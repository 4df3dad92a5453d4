"""Meetings of actors are those that sets of (group, byte, actor) show."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.evaluate.touches import Touches
from tests.support.thorough import usually

BYTES = 24
ELEMENT = st.tuples(st.integers(-2, BYTES + 2), st.integers(0, 3), st.integers(0, 2))
ADDED = st.tuples(
    st.sampled_from("ab"), st.sampled_from([1, 2, 4]), st.lists(ELEMENT, min_size=1, max_size=5)
)


@settings(max_examples=usually(15, thorough=60), deadline=None)
@given(added=st.lists(ADDED, max_size=8), pair=st.sampled_from([("a", "b"), ("a", "a")]))
def test_the_first_group_and_its_bytes_are_those_of_sets(added, pair):
    touches, sets = Touches(BYTES), {}
    for kind, width, elements in added:
        starts, actors, groups = (
            np.array(column, np.int64) for column in zip(*elements, strict=True)
        )
        touches.add(kind, starts, width, actors, groups)
        for start, actor, group in elements:
            if 0 <= start <= BYTES - width:
                for byte in range(start, start + width):
                    sets.setdefault((kind, group, byte), set()).add(actor)

    meeting = touches.meeting(*pair)
    shared = sorted(
        (group, byte)
        for kind, group, byte in sets
        if kind == pair[0]
        and (pair[1], group, byte) in sets
        and len(sets[kind, group, byte] | sets[pair[1], group, byte]) > 1
    )
    if not shared:
        assert meeting is None
        return
    assert meeting is not None
    first = shared[0][0]
    assert [(meeting.group, byte) for byte in meeting.bytes.tolist()] == [
        place for place in shared if place[0] == first
    ]
    assert meeting.actors[0] != meeting.actors[1]
    for kind, actor in zip(pair, meeting.actors, strict=True):
        assert actor in sets[kind, first, int(meeting.bytes[0])]


def test_a_storage_without_bytes_has_no_meeting():
    touches = Touches(0)
    touches.add("a", np.zeros(2, np.int64), 4, np.arange(2))

    assert touches.kinds == ()
    assert touches.meeting("a", "a") is None

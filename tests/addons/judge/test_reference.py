"""Cases that a reference accepts."""

from kvtrace.addons.judge.reference import _broadcasts
from kvtrace.inputs.cases import Case, parsed_shapes


def test_extent_of_one_that_the_reference_broadcasts_is_detected():
    given_case = Case("given", "given", parsed_shapes("x=f32[16, 64], cos=f32[16, 32]", []))
    repeated = Case("32 → 1", "sizes", parsed_shapes("x=f32[16, 64], cos=f32[16, 1]", []))
    smaller = Case("16 → 1", "sizes", parsed_shapes("x=f32[1, 64], cos=f32[1, 32]", []))
    assert _broadcasts(repeated, given_case)
    assert not _broadcasts(smaller, given_case)
    assert not _broadcasts(given_case, given_case)

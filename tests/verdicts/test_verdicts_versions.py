"""The same verdicts, figures and findings under every version of Triton, or a reason why not."""

import pytest

from tests.support.tiers import needs
from tests.support.triton_versions import versions
from tests.verdicts import version_results
from tests.verdicts.version_programs import programs
from tests.verdicts.version_results import EXPLAINED, Explained, differences, numbers, reason_of

pytest.importorskip("triton")
pytest.importorskip("liger_kernel")
pytestmark = pytest.mark.sweep

FACTS = {"race proven": True, "bytes load": 512}


@pytest.fixture(scope="module")
@needs("process")
def by_version(tmp_path_factory):
    """What came of all programs, by the version of Triton that recorded them."""
    made = (
        version_results.results(
            version_results.recorded(version, (), tmp_path_factory.mktemp("version"))
        )
        for version in versions()
    )
    return dict(made)


def compared(by_version):
    """Yield each difference from the first version, with its explanation."""
    first, *others = by_version
    for other in others:
        for program, launches in by_version[first].items():
            for fact, how in differences(launches, by_version[other][program]):
                yield (first, other, program, fact, how), reason_of(program, fact, first, other)


@pytest.mark.process
@pytest.mark.night("13 s; .ci/run runs quick tests with the oldest and newest Triton")
def test_at_least_sixty_programs_are_recorded_judged_and_replayed_by_each(by_version):
    for found in by_version.values():
        assert found.keys() == programs().keys()
        assert len(found) >= 60
        for program, launches in found.items():
            assert launches, program
            for kernel, facts in launches:
                assert any(fact.startswith("bytes") for fact in facts), (program, kernel)
                assert any(" proven" in fact for fact in facts), (program, kernel)


@pytest.mark.process
@pytest.mark.night("13 s; .ci/run runs quick tests with the oldest and newest Triton")
def test_no_version_shows_a_race_in_a_program_that_has_none(by_version):
    from corpus.defects import within

    right = {f"within: {sample.name}" for sample in within.CASES if sample.is_clean}
    wrong = {
        (version, program, fact)
        for version, found in by_version.items()
        for program in right
        for _, facts in found[program]
        for fact in facts
        if fact.startswith("race-within-program violation")
    }
    assert wrong == set()


@pytest.mark.process
@pytest.mark.night("13 s; .ci/run runs quick tests with the oldest and newest Triton")
def test_each_difference_between_versions_has_an_explanation(by_version):
    assert [found for found, why in compared(by_version) if why is None] == []


@pytest.mark.process
@pytest.mark.night("13 s; .ci/run runs quick tests with the oldest and newest Triton")
def test_every_explanation_is_needed(by_version):
    used = {why.reason for _, why in compared(by_version) if why is not None}
    first, *others = map(numbers, by_version)
    asked = {
        each.reason
        for each in EXPLAINED
        if any((first >= each.since) != (other >= each.since) for other in others)
    }
    assert used == asked


def test_differences_are_of_launches_then_of_facts():
    one = [("k", FACTS)]
    assert list(differences(one, one)) == []
    assert [fact for fact, _ in differences(one, [])] == ["launches"]
    assert list(differences(one, [("k", {"race proven": True, "bytes load": 256})])) == [
        ("bytes load", "k: 512, not 256")
    ]
    assert [fact for fact, _ in differences(one, [("k", {"bytes load": 512})])] == ["race proven"]


@pytest.mark.parametrize(
    ("program", "fact", "one", "other", "explained"),
    [
        ("p", "flops elementwise", "3.7.1", "3.9.0", True),
        ("p", "flops elementwise", "3.8.0", "3.5.1", True),
        ("p", "flops elementwise", "3.8.0", "3.9.0", False),
        ("p", "bytes load", "3.7.1", "3.9.0", False),
        ("q", "flops elementwise", "3.7.1", "3.9.0", False),
    ],
)
def test_an_explanation_names_a_program_a_fact_and_versions(
    program, fact, one, other, explained, monkeypatch
):
    why = Explained(("p",), "flops", (3, 8), "a reason")
    monkeypatch.setattr(version_results, "EXPLAINED", (why,))
    assert reason_of(program, fact, one, other) == (why if explained else None)

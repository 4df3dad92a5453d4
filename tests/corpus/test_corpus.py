"""The corpus: its index says what it holds, and no answer to a case of an attack is false."""

from collections import Counter

import pytest

from corpus import FOLDER, INDEX, load
from corpus.case import Answer, Case
from tests.support.thorough import in_turn
from tests.support.tree import ROOT

#: Of the cases of a topic one in so many is asked at a push, another one each day.
EACH = {"diffs": 48, "kept": 34, "laws": 32, "races": 32, "rows": 32, "sizes": 64,
        "tolerances": 64, "versions": 64}  # fmt: skip


def test_index_lists_the_folders_of_the_corpus() -> None:
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir()}
    assert {*INDEX, "kernels", "questions"} == folders - {"__pycache__"}
    assert {name for name, topic in INDEX.items() if topic["attack"]} == EACH.keys()


@pytest.mark.parametrize("topic", INDEX)
def test_readers_of_a_topic_read_it(topic: str) -> None:
    for reader in INDEX[topic]["read_by"]:
        text = (ROOT / reader).read_text(encoding="utf-8")
        names = (f'"{topic}"', f"corpus.{topic}", "support.defects", 'row["attack"]')
        assert any(name in text for name in names), reader


@pytest.mark.costly("imports every kernel of the corpus")
def test_each_case_of_a_topic_has_a_name_of_its_own() -> None:
    for topic in INDEX:
        names = Counter(case.name for case in load(topic))
        assert [(topic, name) for name, count in names.items() if count > 1] == []


@pytest.mark.sweep
@pytest.mark.timeout(1800)  # thoroughly, some 380 s of tolerances
@pytest.mark.parametrize("topic", EACH)
def test_no_answer_to_a_case_of_an_attack_is_false(topic: str) -> None:
    false = {
        case.name: answer
        for case in in_turn(load(topic), EACH[topic])
        if (answer := false_answer(case))
    }
    assert false == {}


def false_answer(case: Case) -> Answer | None:
    """Return the answer to a case if it is false."""
    asked = case.ask()
    answer = asked[0] if isinstance(asked, tuple) else asked
    truth = Answer.YES if case.right else Answer.NO
    return None if answer in (truth, Answer.UNKNOWN) else answer

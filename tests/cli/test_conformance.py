"""`kvtrace trace conformance` as it is called: cases listed, a reader judged, bad input."""

import json
import sys

import pytest

from kvtrace.analysis.conformance import conformance_cases
from kvtrace.cli import main
from tests.support.readers import READERS


def test_without_a_reader_the_cases_are_listed(capsys) -> None:
    assert main(["trace", "conformance"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    cases = conformance_cases()
    assert [line.split()[0] for line in lines] == [case.name for case in cases]
    assert last.startswith(f"{len(cases)} cases in ")
    assert main(["trace", "conformance", "--json", "--case", "simple"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed["case"] == "simple"


@pytest.mark.process
def test_a_right_reader_ends_with_0_and_a_wrong_one_with_1(capsys, tmp_path) -> None:
    words = ["trace", "conformance", "--case", "sampled", "--case", "reject-newer-major"]
    right = f"'{sys.executable}' '{READERS / 'reader.py'}'"
    assert main([*words, "--reader", right]) == 0
    assert capsys.readouterr().out.endswith("2 of 2 cases are right\n")
    wrong = tmp_path / "reader.py"
    wrong.write_text("print('{\"runs\": []}')")
    assert main([*words, "--reader", f"{sys.executable} {wrong}", "--json"]) == 1
    problems = {row["case"]: row["problem"] for row in json.loads(capsys.readouterr().out)}
    assert problems == {
        "reject-newer-major": "not rejected: exit code 0",
        "sampled": "runs has 0 entries, not 1",
    }


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--reader", ""], "--reader is empty"),
        (["--reader", "'reader"], "No closing quotation"),
        (["--case", "none"], "the suite has no case 'none'"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], part: str, capsys) -> None:
    assert main(["trace", "conformance", *words]) == 2
    output = capsys.readouterr()
    assert part in output.err
    assert len(output.err.splitlines()) == 1
    assert output.out == ""

"""JUnit of a suite's result: what passes, fails, and is skipped."""

from xml.etree import ElementTree

from kvtrace.addons.suite.comparing import compare
from kvtrace.addons.suite.page import result_junit
from tests.addons.suite.hand_results import call, result, trial


def cases(*arguments, threshold=0.05):
    root = ElementTree.fromstring(result_junit(*arguments, threshold))
    found = {}
    for suite in root:
        for case in suite:
            tags = [child.tag for child in case if child.tag != "system-out"]
            found[suite.get("name"), case.get("name")] = tags[0] if tags else "passed"
        assert int(suite.get("tests")) == len(suite)
    for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(root.get(kind)) == list(found.values()).count(tag)
    return found


def test_each_call_and_candidate_is_a_case():
    found = cases(
        result(
            call("1-a", 100, 100, candidate=trial("right", 90, 90)),
            call("2-b", 100, 100, candidate=trial("wrong", why="x: \x00 differs")),
            call("3-c", status="failed", why="OutOfMemoryError"),
            call("4-d", status="launched"),
        ),
        [],
    )
    assert found == {
        ("calls", "1-a"): "passed",
        ("calls", "2-b"): "passed",
        ("calls", "3-c"): "error",
        ("calls", "4-d"): "passed",
        ("candidate", "1-a"): "passed",
        ("candidate", "2-b"): "failure",
    }


def test_a_call_that_is_slower_than_allowed_fails():
    before = result(call("1-a", 100, 100, 100), call("2-b", 100, 100, 100), call("3-c", 9, 9))
    after = result(call("1-a", 120, 120, 120), call("2-b", 103, 103, 103), call("3-c", 9, 9))
    found = cases(after, compare(before, after))
    assert found["against", "1-a"] == "failure"
    assert found["against", "2-b"] == "passed"
    assert found["against", "3-c"] == "skipped"


def test_times_are_in_seconds():
    root = ElementTree.fromstring(result_junit(result(call("1-a", 1500, 1500)), [], 0.05))
    assert root.find("testsuite/testcase").get("time") == "0.000001500"

"""The suite that checks readers: its cases, and that it notices a reader that counts wrongly."""

import json
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.validation import validate
from tests.schema.conformance_cases import CASES
from tests.schema.conformance_rows import WITHOUT_CALLS, changed
from tests.schema.make_conformance import write_case, write_parts
from tests.support.readers import SUITE, Case, conformance_cases, first_query, python_reader
from tests.support.tiers import some

ALL = conformance_cases()
#: Where a producer broke a rule that readers do not mind: a run without its row, copied files.
FAULTY = {"leftover-files", "copied-files", "other-names"}
#: A word of the reader's SQL, what a reader might have in its place, and a case that notices it.
MISTAKES = [
    ("ELSE weight END", "ELSE 1 END", "sampled"),
    ("WHEN tuning THEN 0", "WHEN false THEN 0", "trials"),
    ("NOT tuning THEN taken", "NOT tuning THEN ns", "sampled"),
    ("NOT tuning THEN taken", "true THEN taken", "trials"),
    ("kind IS NULL AND", "coalesce(kind, '') <> 'copy' AND", "imported"),
    ("max(greatest(first, last))", "max(last)", "times"),
    ("sum(bytes * weight)", "sum(coalesce(bytes, 0) * weight) + 1", "imported"),
]


def answered(answer, folder) -> object:
    """The answer as a program would have printed it, None if it rejects the trace."""
    try:
        return json.loads(json.dumps(answer(folder)))
    except KvtraceError:
        return None


@pytest.mark.parametrize("case", some(ALL, 6, 2), ids=lambda case: case.name)
def test_kvtrace_answers_each_case_as_expected(case: Case) -> None:
    assert answered(python_reader().answer, str(case.trace)) == case.answer


@pytest.mark.costly("reads the example; the cases stay by day")
def test_the_example_is_a_folder_to_copy_and_has_the_figures_beside_it() -> None:
    example = SUITE.parent / "example"
    assert not [path for path in (example, *example.rglob("*")) if path.is_symlink()]
    assert validate(example / "trace") == []
    expected = json.loads((example / "expected.json").read_text(encoding="utf-8"))
    assert answered(python_reader().answer, str(example / "trace")) == expected["answer"]
    assert expected["answer"]["runs"][0]["device_ns"] == 81_180


@pytest.mark.costly("reads every case with wrong readers; the right one stays by day")
@pytest.mark.parametrize(("right", "wrong", "name"), MISTAKES)
def test_a_wrong_reader_gives_another_answer(
    right: str, wrong: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = python_reader()
    for query in ("LAUNCHES", "EXECUTIONS", "OTHERS", "SPAN", "MEMORY"):
        monkeypatch.setattr(reader, query, getattr(reader, query).replace(right, wrong))
    (case,) = [case for case in ALL if case.name == name]
    assert answered(reader.answer, str(case.trace)) != case.answer


@pytest.mark.parametrize(
    "case",
    some([case for case in ALL if case.answer], 6, 2),
    ids=lambda case: case.name,
)
def test_the_first_query_of_the_page_counts_the_launches_of_each_kernel(case: Case) -> None:
    rows = first_query(case.trace).fetchall()
    expected: Counter[str] = Counter()
    for run in case.answer["runs"]:
        expected.update({kernel["name"]: kernel["launches"] for kernel in run["kernels"]})
    assert {name: int(launches) for name, launches, _ in rows} == dict(+expected)


@pytest.mark.parametrize(("kind", "values"), [("string", ["0"] * 3), ("int32", [0] * 3)])
def test_ids_of_another_type_are_refused(kind: str, values: list[object], tmp_path: Path) -> None:
    calls = {"call_id": (kind, values)}
    write_parts(tmp_path, changed("launches", rows=WITHOUT_CALLS, columns=calls))
    with pytest.raises(duckdb.Error, match="not BIGINT"):
        first_query(tmp_path)
    with pytest.raises(KvtraceError, match="and the format says int64"):
        python_reader().answer(str(tmp_path))


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_validation_of_the_core_profile_accepts_what_is_not_to_be_rejected(case: Case) -> None:
    problems = validate(case.trace, "core")
    assert bool(problems) == (case.answer is None or case.name in FAULTY)


@pytest.mark.parametrize("name", CASES)
def test_cases_made_again_are_those_of_the_suite(name: str, tmp_path: Path) -> None:
    """Rows and metadata: the bytes of a file depend on the version of its writer."""
    import pyarrow.parquet as pq

    write_case(tmp_path, name)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    stored = sorted(p.relative_to(SUITE / name) for p in (SUITE / name).rglob("*") if p.is_file())
    assert made == stored
    for path in made:
        if path.suffix == ".json":
            assert (tmp_path / path).read_bytes() == (SUITE / name / path).read_bytes()
        elif name != "reject-torn":
            new, old = (pq.ParquetFile(folder / path) for folder in (tmp_path, SUITE / name))
            assert new.read().equals(old.read(), check_metadata=False)
            facts = new.metadata.metadata or {}
            stored_facts = old.metadata.metadata or {}
            assert facts.keys() == stored_facts.keys()
            assert {k: v for k, v in facts.items() if k.startswith(b"kvtrace")} == {
                k: v for k, v in stored_facts.items() if k.startswith(b"kvtrace")
            }


def test_the_suite_is_small_and_has_a_folder_for_each_case() -> None:
    files = [path for path in SUITE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 500_000
    assert {path.name for path in SUITE.iterdir()} == set(CASES) == {case.name for case in ALL}
    assert sum(case.answer is None for case in ALL) >= 7

"""Text of launching functions: which is kept, and how often it is decided."""

import builtins
from pathlib import Path
from types import CodeType

import pytest

from kvtrace.capture import running_texts, stacks
from kvtrace.capture.records import Frame
from kvtrace.capture.running_texts import launching_files
from kvtrace.capture.stacks import line_and_column

LINE = "    launch(k{0}, buf, {0}, grid=(1, 2, 3))\n"


def function_of(lines: int, path: Path) -> CodeType:
    """Return the code of a function with so many launch lines, in a file of its own."""
    text = "SIZE = 4\n\ndef call(launch, buf):\n" + "".join(map(LINE.format, range(lines)))
    path.write_text(text)
    names: dict[str, object] = {}
    exec(compile(text, str(path), "exec"), names)
    return names["call"].__code__  # type: ignore[attr-defined]


def frames_of(code: CodeType, lines: int) -> list[Frame]:
    return [Frame(code.co_filename, 4 + line, 1, "call", code) for line in range(lines)]


def test_text_is_decided_once_for_all_launches_of_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[object] = []
    compiling = builtins.compile
    counted = lambda *given, **named: compiled.append(1) or compiling(*given, **named)  # noqa: E731
    code = function_of(100, tmp_path / "model.py")
    monkeypatch.setattr(builtins, "compile", counted)

    texts = [list(launching_files([frame], "used")) for frame in frames_of(code, 100)]

    assert len(compiled) == 1
    assert {text.sha256 for (text,) in texts} == {texts[0][0].sha256}
    assert texts[0][0].content.startswith(b"SIZE = 4\n\ndef call")


@pytest.mark.parametrize("how", ["long", "generated"])
def test_no_text_is_read_of_functions_that_a_program_has_written(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = function_of(2000 if how == "long" else 3, tmp_path / "wrapper.py")
    if how == "generated":
        monkeypatch.setattr(stacks, "GENERATED", [lambda file: file.endswith("wrapper.py")])
    monkeypatch.setattr(running_texts, "_file_text", lambda path: pytest.fail(path))

    assert not list(launching_files(frames_of(code, 1), "used"))
    assert not list(launching_files(frames_of(code, 1), "files"))


def test_text_of_another_code_at_the_same_place_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    for lines in range(1, 40):  # code objects that are freed, so that identities recur
        (text,) = launching_files(frames_of(function_of(lines, path), 1), "used")
        assert text.content.count(b"launch(") == lines


def test_a_script_has_one_text_for_all_statements_of_its_top_level(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    text = "A = 1\nUNREAD = 2\ndef unused():\n    pass\nfor n in range(A):\n    n\nn + A\n"
    path.write_text(text)
    code = compile(text, str(path), "exec")

    first, second = (
        next(launching_files([Frame(str(path), line, 1, "<module>", code)], "used"))
        for line in (6, 7)
    )

    assert first is second
    assert first.content.decode() == text.replace("def unused():\n    pass\n", "\n\n")


def test_positions_are_those_of_the_code_in_any_order(tmp_path: Path) -> None:
    code = function_of(3000, tmp_path / "model.py")
    positions = list(code.co_positions())
    indices = [len(positions) - 1, 0, len(positions) // 2, 5000, len(positions) + 7]

    for index in indices:
        line, _, column, _ = positions[index] if index < len(positions) else (None,) * 4
        expected = (line or code.co_firstlineno, None if column is None else column + 1)
        assert line_and_column(code, 2 * index) == expected

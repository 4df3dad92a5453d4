"""Files of configurations to try, and grids as expressions."""

import json

import pytest

from kvtrace.addons.suite.tried_file import CannotTry, computed, read_configurations


@pytest.mark.parametrize(
    ("extent", "value"),
    [
        (7, 7),
        ("cdiv(n, BLOCK)", 16),
        ("cdiv(n, BLOCK) * 2 + n % 3 - n // 100", 23),
        ("min(n, max(BLOCK, 80))", 80),
    ],
)
def test_extent_is_a_number_or_an_expression(extent, value):
    assert computed(extent, {"n": 1000, "BLOCK": 64}) == value


@pytest.mark.parametrize(
    "extent",
    [
        "rows",
        "n / 2",
        "cdiv(n)",
        "n.real",
        "__import__('os')",
        "n if n else 1",
        "n //",
        "n // 0",
        1.5,
    ],
)
def test_other_expressions_are_refused(extent):
    with pytest.raises(CannotTry, match="cannot be computed"):
        computed(extent, {"n": 1000})


def test_file_is_read_by_kernel(tmp_path):
    path = tmp_path / "configs.json"
    content = {"scale": {"space": {"BLOCK": [64]}, "grid": ["cdiv(n, BLOCK)"]}}
    path.write_text(json.dumps(content))

    assert read_configurations(path) == content


@pytest.mark.parametrize("text", ["[]", '{"scale": []}', '{"scale": {"space": []}}', "{", '"x"'])
def test_file_of_another_form_is_refused(tmp_path, text):
    path = tmp_path / "configs.json"
    path.write_text(text)

    with pytest.raises(CannotTry, match=r"configs\.json (is no file of configurations|cannot be)"):
        read_configurations(path)

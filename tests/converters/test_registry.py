import os
import subprocess
import sys

import pytest

from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Converter, converter_names, load_converter
from kvtrace.registry import own_entries
from kvtrace.schema.errors import BadSetting

PLUGIN = """
from kvtrace.converters.registry import Conversion

class Lines:
    summary = "how many launches"
    default_output = "count.txt"

    def convert(self, selection, output, settings):
        output.write_text(str(selection.table("launches").num_rows))
        return Conversion((output,))

LINES = Lines()
BROKEN = 5
"""

ENTRY_POINTS = """[kvtrace.converters]
count = counting:LINES
broken = counting:BROKEN
"""


@pytest.mark.parametrize("name", [entry.name for entry in own_entries("converters")])
def test_built_in_converters_implement_the_protocol(name):
    converter = load_converter(name)

    assert isinstance(converter, Converter)
    assert converter.summary
    assert converter.default_output


def test_unknown_converter_name_raises_an_error_that_lists_known_names():
    with pytest.raises(BadSetting, match=r"no converter 'prefetto' .* one of .*\bperfetto, "):
        load_converter("prefetto")
    assert {"perfetto", "chrome", "csv"} <= set(converter_names())


@pytest.fixture
def plugin(tmp_path):
    """A package with entry points, on the path of another process."""
    (tmp_path / "counting.py").write_text(PLUGIN)
    metadata = tmp_path / "counting-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.getcwd()])}  # noqa: PTH109


def run(code, environment):
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.process
def test_entry_point_of_another_package_registers_a_converter(plugin):
    code = (
        "from kvtrace.converters.registry import *; "
        "print(converter_names()[-2:], load_converter('count').summary)"
    )

    assert run(code, plugin).stdout == "('broken', 'count') how many launches\n"


@pytest.mark.process
def test_error_names_an_entry_point_that_is_not_a_converter(plugin):
    done = run("from kvtrace.converters.registry import *; load_converter('broken')", plugin)

    assert "the converter 'broken' is a int without summary" in done.stderr


@pytest.mark.process
def test_converters_do_not_import_each_other():
    code = (
        "import sys; from kvtrace.converters.registry import load_converter; "
        "load_converter('perfetto'); "
        "heavy = {'perfetto', 'jinja2', 'duckdb', 'google', 'kvtrace.converters.timeline.chrome', "
        "'kvtrace.converters.report'}; print(heavy & set(sys.modules))"
    )

    assert run(code, os.environ).stdout == "set()\n"


def test_output_file_is_written_completely_or_not_at_all(tmp_path):
    target = tmp_path / "out.txt"
    target.write_bytes(b"before")

    with pytest.raises(TypeError), whole_file(target) as file:
        file.write(b"half" + file.write(b"first"))
    assert target.read_bytes() == b"before"

    with whole_file(target) as file:
        file.write(b"whole")
    assert target.read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_unwritable_output_path_raises_a_one_sentence_error(tmp_path):
    for place in (tmp_path, tmp_path / "missing" / "file", tmp_path / ("n" * 300)):
        with pytest.raises(BadSetting) as caught, whole_file(place):
            pass
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []

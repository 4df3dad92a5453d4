"""Exports are found by name, and write to a new or empty folder only."""

import pytest

from kvtrace.addons.suite.exports import export_names, export_suite
from kvtrace.schema.errors import BadSetting


def test_exports_have_names():
    assert export_names() == ("flashinfer-bench", "tritonbench", "kernelbench")


def test_an_unknown_format_is_refused(training, tmp_path):
    with pytest.raises(BadSetting, match=r"no format 'datasets'.*choose one of flashinfer-bench"):
        export_suite(training, "datasets", tmp_path / "out")


def test_a_folder_with_files_is_kept(training, tmp_path):
    (tmp_path / "mine").write_text("text")
    with pytest.raises(BadSetting, match="is not an empty folder"):
        export_suite(training, "kernelbench", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_an_empty_folder_is_used(training, tmp_path):
    (tmp_path / "out").mkdir()
    done = export_suite(training, "kernelbench", tmp_path / "out")
    assert all(file.is_file() for file in done.files)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_calls_of_python_source_are_named(changed, tmp_path):
    done = export_suite(
        changed(("stage='ttir'", "stage='source'")), "kernelbench", tmp_path / "out"
    )
    assert done.notes == (
        "001-layer_norm_forward is left out: it is launched from Python source; make the suite "
        "without --source",
    )


def test_damaged_ir_is_named(changed, tmp_path):
    folder = changed()
    (folder / "kernels" / "layer_norm_forward.ttir").write_text("no IR")
    (note,) = export_suite(folder, "kernelbench", tmp_path / "out").notes
    assert note.startswith("001-layer_norm_forward is left out: its IR cannot be read")

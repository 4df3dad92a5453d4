"""`kvtrace suite export` prints what it wrote, and says in a sentence what is wrong."""

from kvtrace.cli import main


def test_a_suite_is_exported_beside_it(changed, capsys):
    folder = changed()
    assert main(["suite", "export", str(folder), "--to", "kernelbench"]) == 0
    assert capsys.readouterr().out == f"wrote {folder}-kernelbench: 22 files\n"
    assert (folder.with_name(f"{folder.name}-kernelbench") / "README.md").is_file()


def test_mistakes_are_answered_in_a_sentence(training, tmp_path, capsys):
    assert main(["suite", "export", str(training), "--to", "onnx"]) == 2
    assert "there is no format 'onnx'" in capsys.readouterr().err
    assert (
        main(["suite", "export", str(tmp_path), "--to", "kernelbench", "-o", f"{tmp_path}/x"]) == 2
    )
    assert "is no suite" in capsys.readouterr().err

"""`kvtrace suite import` prints what the suite has and lacks."""

import json

from kvtrace.cli import main


def definition(name, **changes):
    return {
        "name": name,
        "axes": {"n": {"type": "var"}},
        "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
        "outputs": {},
        "reference": "def run(x):\n    return x\n",
    } | changes


def test_a_suite_is_made_of_files_of_fi_trace(tmp_path, capsys):
    for name in ("a", "b", "c"):
        changes = {} if name == "a" else {"reference": ""}
        (tmp_path / f"{name}.json").write_text(json.dumps(definition(name, **changes)))
    words = ["suite", "import", "flashinfer", str(tmp_path), "-o", str(tmp_path / "suite")]
    assert main([*words, "--axis", "n=5"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"wrote {tmp_path / 'suite'}: 1 call for 1 recorded, 33.3 %")
    assert second == "  left out: b and 1 more: it has no reference"


def test_mistakes_are_answered_in_a_sentence(tmp_path, capsys):
    assert main(["suite", "import", "onnx", str(tmp_path)]) == 2
    assert "there is no import of 'onnx': only flashinfer" in capsys.readouterr().err
    assert main(["suite", "import", "flashinfer", str(tmp_path), "--axis", "n"]) == 2
    assert "--axis n: write a name and a size, as batch_size=32" in capsys.readouterr().err
    assert main(["suite", "import", "flashinfer", str(tmp_path / "no")]) == 2
    assert "has no definitions of FlashInfer" in capsys.readouterr().err

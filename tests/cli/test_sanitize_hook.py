"""The hook of pre-commit, run as its manifest says (real pre-commit installed and ran it, too)."""

import shutil
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_hook_fails_on_a_violation_of_a_recorded_trace(kvtrace, tmp_path):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    program, *words = [*hook["entry"].split(), *hook["args"]]
    shutil.copytree(ROOT / "tests" / "fixtures" / "missing_mask", tmp_path / words[-1])

    code, out, _ = kvtrace(*words)

    assert (program, hook["pass_filenames"], code) == ("kvtrace", False, 1)
    assert ":6:21: error[out-of-bounds]: load ends 4 bytes past the end of source" in out

"""The settings of this add-on: as arguments, as variables, and as an option of `kvtrace run`."""

import subprocess
import sys

import pytest

from kvtrace.addons.check.settings import CHECK, CHECK_BYTES, Checks, checks_of
from kvtrace.schema.errors import BadSetting
from kvtrace.settings import DEFAULT, settings_from_arguments, settings_from_environment

GIVEN = {"check": "first,sample:1000,kernel:soft*,finite,digest", "check_bytes": 4096}


def test_the_environment_and_the_arguments_have_the_same_names():
    from_arguments = settings_from_arguments(**GIVEN)
    variables = from_arguments.as_environment()
    assert variables["KVTRACE_CHECK"] == GIVEN["check"]
    assert settings_from_environment(variables) == (from_arguments, ())
    assert from_arguments.values() == {**DEFAULT.values(), **GIVEN}
    assert (CHECK.of(DEFAULT), CHECK_BYTES.of(DEFAULT)) == ("", 1 << 30)


def test_what_is_given_as_the_default_is_the_default():
    assert settings_from_environment(DEFAULT.as_environment()) == (DEFAULT, ())
    assert settings_from_arguments(settings_from_arguments(**GIVEN), **DEFAULT.values()) == DEFAULT


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("check", "all"),
        ("check", "first,sample"),
        ("check", "sample:0"),
        ("check", "finite:0"),
        ("check", "digest:all"),
        ("check", "sample:-1"),
        ("check", "kernel:"),
        ("check", "first:2"),
        ("check_bytes", "0"),
    ],
)
def test_an_impossible_value_is_a_sentence_and_leaves_the_default(name, value):
    variable = f"KVTRACE_{name.upper()}"
    found, (problem,) = settings_from_environment({variable: value, "KVTRACE_KERNELS": "a*"})
    assert found.values()[name] == DEFAULT.values()[name]
    assert found.kernels == "a*"
    assert problem.startswith(f"{variable}: ")
    with pytest.raises(BadSetting):
        settings_from_arguments(**{name: value})


def test_checks_are_read_part_by_part():
    assert not checks_of(DEFAULT).any
    found = checks_of(settings_from_arguments(check="first, sample:7,kernel:a*,kernel:b, digest"))
    assert found == Checks(first=True, sample=7, kernels=("a*", "b"), digest=1)
    assert (found.any, found.memory) == (True, True)
    watched = checks_of(settings_from_arguments(check="finite"))
    assert (watched.any, watched.memory) == (True, False)
    some = checks_of(settings_from_arguments(check="finite:10,digest:3"))
    assert some == Checks(finite=10, digest=3)
    with pytest.raises(BadSetting, match="invalid part 'sample:x'"):
        settings_from_arguments(check="first,sample:x")
    with pytest.raises(BadSetting, match="must be text, not 5"):
        settings_from_arguments(check=5)


@pytest.mark.process
def test_a_run_has_it_as_an_option(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os; print(os.environ['KVTRACE_CHECK'])")
    command = [sys.executable, "-m", "kvtrace", "run", "-o", str(tmp_path / "out")]
    done = subprocess.run(
        [*command, "--check", "first,finite", str(program)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "first,finite\n"
    helped = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True)
    assert "Which launches' data to keep for checks" in helped.stdout

"""The settings of this add-on: as arguments, as variables, and as an option of `kvtrace run`."""

import os
import subprocess
import sys

import pytest

from kvtrace.addons.check.settings import CHECK, CHECK_BYTES, Checks, checks_of
from kvtrace.schema.errors import BadSetting
from kvtrace.settings import DEFAULT, settings_from_arguments, settings_from_environment

GIVEN = {"check": "first,sample:1000,kernel:soft*,finite,digest", "check_bytes": 4096}


def test_settings_have_the_same_names_in_environment_and_arguments():
    from_arguments = settings_from_arguments(**GIVEN)
    variables = from_arguments.as_environment()
    assert variables["KVTRACE_CHECK"] == GIVEN["check"]
    assert settings_from_environment(variables) == (from_arguments, ())
    assert from_arguments.values() == {**DEFAULT.values(), **GIVEN}
    assert (CHECK.of(DEFAULT), CHECK_BYTES.of(DEFAULT)) == ("", 1 << 30)


def test_default_values_given_explicitly_equal_the_defaults():
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
def test_invalid_setting_is_reported_and_replaced_by_the_default(name, value):
    variable = f"KVTRACE_{name.upper()}"
    found, (problem,) = settings_from_environment({variable: value, "KVTRACE_KERNELS": "a*"})
    assert found.values()[name] == DEFAULT.values()[name]
    assert found.kernels == "a*"
    assert problem.startswith(f"{variable}: ")
    with pytest.raises(BadSetting):
        settings_from_arguments(**{name: value})


def test_setting_check_is_parsed_into_its_parts():
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
def test_kvtrace_run_has_the_option_check_and_leaves_the_variable(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os; print(os.environ['KVTRACE_CHECK'])")
    command = [sys.executable, "-m", "kvtrace", "run", "-o", str(tmp_path / "out")]
    done = subprocess.run(
        [*command, "--check", "first,finite", str(program)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "first,finite\n"
    by_variable = subprocess.run(
        [*command, str(program)], env=os.environ | {"KVTRACE_CHECK": "digest"},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert by_variable.stdout == "digest\n"
    helped = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True)
    assert "Which launches' data to keep for checks" in helped.stdout

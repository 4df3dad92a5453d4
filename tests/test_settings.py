"""Settings from the environment and from keyword arguments."""

import dataclasses
import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs_site import variables
from kvtrace import registry
from kvtrace.amounts import Amounts, Limit
from kvtrace.schema.errors import BadSetting
from kvtrace.settings import (
    DEFAULT,
    OWN,
    Settings,
    setting_names,
    settings_from_arguments,
    settings_from_environment,
)
from tests.support.tree import PACKAGE, package_files


def test_the_environment_and_the_arguments_have_the_same_names():
    given_names = {
        "mode": "ops",
        "tensors": "int",
        "kernels": "softmax*",
        "source": "files",
        "target": "hip:gfx942",
        "compile": "ttir",
        "device": "cpu",
        "max_calls": 7,
        "sanitize": "raise",
        "rules": "default,-out-of-view",
        "strict": True,
        "budget": 60,
        "limit": "2GB, ring:1h",
        "sample": "1/100",
        "window": "steps:10-20",
        "ranks": "0,8",
    }
    assert tuple(given_names) == OWN
    from_arguments = settings_from_arguments(**given_names)
    from_environment, problems = settings_from_environment(from_arguments.as_environment())
    assert (from_environment, problems) == (from_arguments, ())
    assert from_arguments == Settings(**given_names)


@pytest.mark.parametrize(
    ("given", "meant"), [("1", "warn"), ("0", "off"), ("warn", "warn"), ("RAISE", "raise")]
)
def test_judging_is_switched_on_by_what_it_does(given, meant):
    found, problems = settings_from_environment({"KVTRACE_SANITIZE": given})
    assert (found.sanitize, problems) == (meant, ())


def test_an_empty_environment_gives_the_defaults():
    assert settings_from_environment({"KVTRACE": "out", "KVTRACE_MODE": ""}) == (DEFAULT, ())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "nonsense"),
        ("tensors", "some"),
        ("source", "perhaps"),
        ("device", "cuda"),
        ("target", "sm90"),
        ("max_calls", "0"),
        ("max_calls", "many"),
        ("kernels", " "),
        ("sanitize", "error"),
        ("strict", "very"),
    ],
)
def test_an_impossible_value_is_a_sentence_and_leaves_the_default(name, value):
    variable = f"KVTRACE_{name.upper()}"
    found, (problem,) = settings_from_environment(
        {variable: value, "KVTRACE_KERNELS": "a*"} | {variable: value}
    )
    assert getattr(found, name) == getattr(DEFAULT, name)
    assert problem.startswith(f"{variable}: ")
    with pytest.raises(BadSetting):
        settings_from_arguments(**{name: value})


def test_a_setting_that_does_not_exist_is_named():
    with pytest.raises(BadSetting, match="there is no setting 'tensor'"):
        settings_from_arguments(tensor="all")


@given(st.dictionaries(st.sampled_from(["MODE", "TENSORS", "SOURCE", "MAX_CALLS"]), st.text()))
def test_any_environment_gives_settings_without_raising(variables):
    found, problems = settings_from_environment(
        {f"KVTRACE_{name}": value for name, value in variables.items()}
    )
    assert isinstance(found, Settings)
    assert len(problems) <= len(variables)


def test_kernels_are_chosen_by_globs():
    chosen = settings_from_arguments(kernels="softmax*, matmul")
    assert [chosen.records_kernel(n) for n in ("softmax_fwd", "matmul", "matmul2", "add")] == [
        True,
        True,
        False,
        False,
    ]


def test_every_variable_is_on_the_page_of_settings():
    files = [path for path in package_files(".py") if path != PACKAGE / "settings.py"]
    texts = [path.read_text() for path in files]
    read = {name for text in texts for name in re.findall(r'"(KVTRACE(?:_[A-Z]+)*)"', text)}
    read |= {f"KVTRACE_{name.upper()}" for name in setting_names()}
    read |= {entry.name for entry in registry.own_entries("at_start")}

    told = set(re.findall(r"^\| `(KVTRACE\w*)`", Path("docs/settings.md").read_text(), re.M))

    assert "KVTRACE_DEBUG" in read
    assert told == read


@pytest.mark.parametrize("name", OWN)
def test_the_page_of_settings_says_every_value(name):
    (field,) = (each for each in dataclasses.fields(Settings) if each.name == name)
    page = Path("docs/settings.md").read_text()
    (row,) = re.findall(rf"^\| `KVTRACE_{field.name.upper()}` .*$", page, re.M)
    assert [value for value in get_args(field.type) if f"`{value}`" not in row] == []


def test_the_page_of_settings_is_made_from_them():
    assert variables.PAGE.read_text() == variables.page_text(), "run make docs"


def test_a_variable_that_means_nothing_is_told_with_the_nearest():
    environment = {
        "KVTRACE_SANITISE": "1", "KVTRACE_DEBUG": "0", "KVTRACE_TEST_X": "1", "KVTRACE": "out",
    }  # fmt: skip
    settings, problems = settings_from_environment(environment)
    assert settings == DEFAULT
    assert problems == (
        "there is no variable KVTRACE_SANITISE (did you mean 'KVTRACE_SANITIZE'?); "
        "kvtrace doctor --settings lists them",
    )


UNITS = {"bytes": {"B": 1, "kB": 1000, "MB": 1000**2, "GB": 1000**3, "GiB": 1024**3},
         "launches": {" launches": 1, "k launches": 1000, "M launches": 1000**2},
         "seconds": {"s": 1, " min": 60, "h": 3600, "d": 86400}}  # fmt: skip


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["", "ring:"]), st.sampled_from(sorted(UNITS))),
        st.tuples(st.integers(1, 10**6), st.integers(0, 4), st.booleans()),
    )
)
def test_limits_are_read_as_they_are_written(parts):
    texts, expected = [], {"": {}, "ring:": {}}
    for (ring, what), (number, unit, upper) in parts.items():
        name, times = list(UNITS[what].items())[unit % len(UNITS[what])]
        texts.append(f"{ring}{number}{name.upper() if upper else name}")
        expected[ring][what] = number * times
    text = " , ".join(texts)
    limit = settings_from_arguments(limit=text).limits
    assert limit == Limit(Amounts(**expected[""]), Amounts(**expected["ring:"]))
    assert limit.any == bool(parts)


@given(st.text(alphabet="0123456789.,: ringkMGBlauchesminhd/", max_size=20) | st.text(max_size=9))
def test_whatever_is_given_is_a_limit_or_a_sentence(text):
    for name in ("limit", "sample"):
        settings, problems = DEFAULT, ()
        try:
            settings = settings_from_arguments(**{name: text})
        except BadSetting as error:
            problems = (str(error),)
        assert all(f"the setting {name} " in problem for problem in problems)
        for amounts in (settings.limits.end, settings.limits.newest):
            assert all(amount is None or amount >= 1 for amount in dataclasses.astuple(amounts))
        assert 1 <= settings.one_in <= 1_000_000


@pytest.mark.parametrize(
    ("text", "amount"), [("1/1", 1), ("1/100", 100), (" 1 / 7 ", 7), ("1/1000000", 10**6), ("", 1)]
)
def test_sampling_says_of_how_many_one(text, amount):
    assert settings_from_arguments(sample=text).one_in == amount


@pytest.mark.parametrize(
    ("name", "value"),
    [("sample", "100"), ("sample", "1/0"), ("sample", "2/3"), ("sample", "1/1000001"),
     ("sample", 100), ("limit", "2"), ("limit", "10m"), ("limit", "0s"), ("limit", "1h,2h"),
     ("limit", "ring:"), ("limit", "-1GB"), ("limit", 10)],
)  # fmt: skip
def test_what_is_no_limit_leaves_the_default(name, value):
    with pytest.raises(BadSetting):
        settings_from_arguments(**{name: value})
    found, (problem,) = settings_from_environment({f"KVTRACE_{name.upper()}": str(value)})
    assert found == DEFAULT
    assert problem.startswith(f"KVTRACE_{name.upper()}: ")

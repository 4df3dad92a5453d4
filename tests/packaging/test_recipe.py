"""conda-forge's recipe says of kvtrace what pyproject.toml says."""

import re
import tomllib

import yaml

import kvtrace
from tests.support.tree import ROOT

RECIPE = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
#: What conda-forge calls packages that have another name there.
NAMES = {"duckdb": "python-duckdb", "torch": "pytorch"}


def as_in_recipe(requirement):
    name, bound = re.fullmatch(r"([\w-]+)(>=[\d.]+)(?:;.*)?", requirement).groups()
    return f"{NAMES.get(name, name)} {bound}"


def test_recipe_has_the_projects_version_and_license():
    assert RECIPE["context"]["version"] == kvtrace.__version__
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert [RECIPE["about"]["license_file"]] == PROJECT["license-files"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]


def test_recipe_has_the_projects_dependencies():
    needs = RECIPE["requirements"]
    python = f"python {PROJECT['requires-python']}"
    assert needs["run"] == [python, *map(as_in_recipe, PROJECT["dependencies"])]
    build = {as_in_recipe(each) for each in PYPROJECT["build-system"]["requires"]}
    assert {"python", "pip"} | build == set(needs["host"])
    triton = PROJECT["optional-dependencies"]["triton"]
    assert needs["run_constraints"] == [as_in_recipe(each) for each in triton]


def test_modules_that_the_recipe_tests_import_exist():
    modules = [
        name for test in RECIPE["tests"] for name in test.get("python", {}).get("imports", [])
    ]
    assert modules
    for name in modules:
        assert __import__(name)

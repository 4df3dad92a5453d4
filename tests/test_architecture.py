"""The rules of ARCHITECTURE.md that a reader cannot see from one file."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

from kvtrace.registry import own_entries
from kvtrace.schema.errors import PACKAGES
from tests.support.imports import HEAVY_IN_CAPTURE, MODULES, imports_of, strings_of
from tests.support.tree import PACKAGE, ROOT, tracked_names

# Which parts of kvtrace each part may import besides itself; all else of ours is refused. A module
# belongs to the part with the longest name that is its own or that of a package around it.
# Capture finds backends by entry points and imports none; no backend imports another.
_LANGUAGE = {"kvtrace.schema", "kvtrace.ir"}
_ENGINE = _LANGUAGE | {"kvtrace.evaluate"}
_CALLS = _ENGINE | {"kvtrace.recorded_calls", "kvtrace.metrics"}
_VERDICTS = _CALLS | {"kvtrace.symbolic", "kvtrace.verdicts"}
_RECORDING = {
    "kvtrace.schema",
    "kvtrace.settings",
    "kvtrace.amounts",
    "kvtrace._boot",
    "kvtrace.capture",
    "kvtrace.backends",
}
_COMPILED = _RECORDING | _VERDICTS | {"kvtrace.backends.compiled_kernels", "kvtrace.backends.cupti"}
_OPENED = (
    _VERDICTS
    | {"kvtrace.clients", "kvtrace.converters", "kvtrace.text", "kvtrace.progress"}
    | {"kvtrace.settings", "kvtrace.converters.findings.envelope"}
    | {"kvtrace.backends.triton"}  # the stages of kernels that were recorded without them
)
ALLOWED = {
    "kvtrace.schema": {"kvtrace.registry", "kvtrace.version"},
    "kvtrace.forks": {"kvtrace.surroundings"},
    "kvtrace.registry": {"kvtrace.surroundings"},
    "kvtrace.surroundings": set(),
    "kvtrace.project": set(),
    "kvtrace.lazy": {"kvtrace.registry"},
    "kvtrace.version": set(),
    "kvtrace.ir": {"kvtrace.schema"},
    "kvtrace.text": set(),
    "kvtrace.progress": set(),
    "kvtrace.figures": {
        "kvtrace.figures.names",
        "kvtrace.progress",
        "kvtrace.schema",
        "kvtrace.text",
    },
    "kvtrace.figures.causes": set(),  # what recorded programs need of it
    "kvtrace.figures.modules": set(),  # so is this
    "kvtrace.figures.names": set(),  # and this
    "kvtrace.converters.findings.envelope": {"kvtrace.text"},  # rows that `verdicts/sizes` makes
    "kvtrace.converters": _LANGUAGE
    | {"kvtrace.converters.findings.envelope"}
    | {f"kvtrace.figures{part}" for part in ("", ".causes", ".modules", ".names")}
    | {"kvtrace.text", "kvtrace.progress", "kvtrace.project"},
    "kvtrace.evaluate": _LANGUAGE,
    "kvtrace.recorded_calls": _ENGINE,
    "kvtrace.metrics": _CALLS,
    "kvtrace.symbolic": _LANGUAGE,
    "kvtrace.verdicts": (_VERDICTS - {"kvtrace.metrics"})
    | {"kvtrace.text", "kvtrace.converters.findings.envelope"},
    "kvtrace.clients": _VERDICTS | {"kvtrace.progress"},
    "kvtrace.amounts": {"kvtrace.schema"},
    "kvtrace.settings": {"kvtrace.amounts", "kvtrace.schema", "kvtrace.project"},
    "kvtrace._boot": {"kvtrace.capture"},
    "kvtrace.capture": {"kvtrace.amounts", "kvtrace.schema", "kvtrace.settings", "kvtrace._boot"},
    "kvtrace.traced": _RECORDING | {"kvtrace.clients", "kvtrace.backends.triton"},  # for its types
    "kvtrace.backends": _RECORDING,
    "kvtrace.backends.cupti": _RECORDING
    | {"kvtrace.figures.causes", "kvtrace.figures.modules", "kvtrace.figures.names"},
    "kvtrace.backends.compiled_kernels": _RECORDING
    | _VERDICTS
    | {"kvtrace.converters"},  # defects are printed at once
    "kvtrace.backends.triton": _COMPILED | {"kvtrace.clients"},
    "kvtrace.backends.inductor": _COMPILED,
    "kvtrace.analysis": _OPENED | {"kvtrace.figures"},
    "kvtrace.pytest_plugin": set(),
}
STANDARD_LIBRARY = sys.stdlib_module_names | {"annotationlib"}  # of Python 3.14
SCHEMA_LIBRARIES = {"numpy", "pyarrow"}
# A lock is made with forks.Lock, wherever in `kvtrace/` it is; whatever add-ons add to is asked of
# the registry; a package finds its public names with lazy.public_name.
EVERYWHERE = {
    "kvtrace.forks",
    "kvtrace.surroundings",
    "kvtrace.registry",
    "kvtrace.lazy",
    "kvtrace.version",
}
OUTSIDE = {"kvtrace.schema"}
# An add-on may import all of the core besides the command line, which its folder `commands` adds
# to, and itself; the core imports no add-on.
COMMAND_LINE = re.compile(r"kvtrace\.cli\b|kvtrace\.addons\.\w+\.commands\b")
NOT_IN_READING = {"torch", "triton"}
PROVER_FILES = {path.stem for path in (PACKAGE / "symbolic" / "prover").glob("*.py")}


def tracked_files() -> list[Path]:
    """Every file of the commit or the work tree that git does not ignore."""
    return [ROOT / name for name in tracked_names() if (ROOT / name).is_file()]


def part_of(name: str) -> str:
    """`kvtrace.schema.tables` belongs to the part `kvtrace.schema`."""
    parts = name.split(".")
    if name.startswith("kvtrace.addons."):
        return ".".join(parts[:3])
    around = [".".join(parts[:length]) for length in range(len(parts), 1, -1)]
    return next((name for name in around if name in ALLOWED), ".".join(parts[:2]))


def test_every_part_is_seen_by_these_tests() -> None:
    assert {part_of(name) for name, _ in MODULES} >= set(ALLOWED)


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_parts_import_only_what_the_picture_shows(part: str) -> None:
    parts = {part_of(name) for name, path in MODULES if "." in name}
    allowed = ALLOWED[part] | {part} | (set() if part in OUTSIDE else EVERYWHERE)
    broken = [
        f"{name} imports {target}"
        for name, path in MODULES
        if part_of(name) == part
        for target in imports_of(name, path)
        if target.startswith("kvtrace.")
        and part_of(target) in parts
        and part_of(target) not in allowed
    ]
    assert broken == []


def test_add_ons_import_neither_each_other_nor_the_command_line() -> None:
    broken = [
        f"{name} imports {target}"
        for name, path in MODULES
        if name.startswith("kvtrace.addons.")
        for target in imports_of(name, path)
        if (target.startswith("kvtrace.addons.") and part_of(target) != part_of(name))
        or (COMMAND_LINE.match(target) and not COMMAND_LINE.match(name))
    ]
    assert broken == []


def test_the_core_names_no_add_on() -> None:
    """Not as a module either, which a string may name: entry points are all that leads to them."""
    broken = [
        f"{name} names {text}"
        for name, path in MODULES
        if not name.startswith("kvtrace.addons")
        for text in (*imports_of(name, path), *strings_of(path))
        if "kvtrace.addons." in text
    ]
    entries = (PACKAGE / "entry_points.txt").read_text(encoding="utf-8")
    assert broken == []
    assert "addons" not in entries


def test_the_prover_is_asked_by_its_door() -> None:
    """`digits` is the other question that it answers; how it does is nobody else's."""
    room = "kvtrace.symbolic.prover"
    broken = [
        f"{name} imports {target}"
        for name, path in MODULES
        if not name.startswith(room)
        for target in imports_of(name, path)
        if target.startswith(f"{room}.") and target.split(".")[3] in PROVER_FILES - {"digits"}
    ]
    assert broken == []


def test_no_more_than_two_files_import_each_other_in_a_circle() -> None:
    """Functions' imports count; those that type checkers alone make do not."""
    assert [sorted(circle) for circle in circles(running=True) if len(circle) > 2] == []


def test_no_circle_joins_rooms_even_with_imports_for_types() -> None:
    """The autostart line is one with what it starts."""
    rooms = [{part_of(name) for name in circle} for circle in circles(running=False)]
    assert [sorted(parts) for parts in rooms if len(parts - {"kvtrace._boot"}) > 1] == []


def circles(*, running: bool) -> set[frozenset[str]]:
    """Files that import each other in a circle, of imports that run, or of all."""
    files = {name for name, _ in MODULES}
    importing = {
        name: {
            found
            for target in imports_of(name, path, running=running)
            if (found := target if target in files else target.rpartition(".")[0]) in files
            # `from package import part` names the part, also where that is written in C
            and not (PACKAGE.parent / target.replace(".", "/")).with_suffix(".c").is_file()
        }
        - {name}
        for name, path in MODULES
    }
    reached = {name: all_reached(name, importing) for name in files}
    return {frozenset(n for n in reached[name] if name in reached[n]) for name in files}


def all_reached(start: str, importing: dict[str, set[str]]) -> set[str]:
    """What a file imports, and what that does."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        fresh = importing[waiting.pop()] - found
        found |= fresh
        waiting.extend(fresh)
    return found


def test_capture_and_boot_know_no_backend() -> None:
    groups = ("backends", "libraries", "libraries_without_gpu", "stand_ins")
    places = {entry.place for group in groups for entry in own_entries(group)}
    rooms = tuple({".".join(place.split(":")[0].split(".")[:3]) for place in places})
    assert "kvtrace.backends.triton" in rooms
    broken = [
        f"{name} names {target}"
        for name, path in MODULES
        if part_of(name) in {"kvtrace.capture", "kvtrace._boot"}
        for target in (*imports_of(name, path), *strings_of(path))
        if target.startswith(rooms)
    ]
    assert broken == []


def test_schema_needs_only_its_three_libraries() -> None:
    outside = {
        target.split(".")[0]
        for name, path in MODULES
        if part_of(name) == "kvtrace.schema"
        for target in imports_of(name, path)
    }
    assert outside - SCHEMA_LIBRARIES - set(STANDARD_LIBRARY) - {"kvtrace"} == set()


def what_records() -> tuple[str, ...]:
    """How the names of modules begin that run in programs that are recorded."""
    recording = {entry.place.partition(":")[0] for entry in own_entries("backends")}
    figures = ("kvtrace.figures.causes", "kvtrace.figures.modules")
    return "kvtrace.capture", "kvtrace.backends", "kvtrace._boot", *figures, *recording


def test_capture_and_its_backends_import_nothing_heavy() -> None:
    broken = [
        f"{name} imports {target}"
        for name, path in MODULES
        if name.startswith(what_records())
        for target in imports_of(name, path)
        if target.split(".")[0] in HEAVY_IN_CAPTURE
    ]
    assert broken == []


#: Parts of recording and of the format that need NumPy: without it they are left out, and said so.
WITH_NUMPY = (
    "kvtrace.backends.cupti.",  # the device timeline
    "kvtrace.backends.triton.runtime_arguments",  # the evaluator
    "kvtrace.schema.element_values",
    "kvtrace.schema.numpy_arrays",
)


def test_a_recorder_needs_no_numpy() -> None:
    recording = ("kvtrace.capture", "kvtrace.backends", "kvtrace._boot", "kvtrace.schema")
    broken = [
        name
        for name, path in MODULES
        if name.startswith(recording) and not name.startswith(WITH_NUMPY)
        for target in imports_of(name, path, running=True)
        if target.split(".")[0] == "numpy"
    ]
    assert broken == []


def test_what_is_said_to_be_missing_is_what_is_declared_besides_pyarrow() -> None:
    declared, _ = declared_dependencies()
    assert set(PACKAGES.values()) == declared - {"pyarrow"}


def test_what_records_asks_nothing_of_pyarrow_for_which_that_imports_pandas() -> None:
    asks = re.compile(
        r"\bpa\.(array|scalar|repeat)\(|\bpc\."
        r"|\.(to_numpy|to_pandas|fill_null|dictionary_encode|empty_table)\("
    )
    schema = ("columns", "journal", "reading", "sealing", "writer")
    parts = (*what_records(), "kvtrace.clients", *(f"kvtrace.schema.{name}" for name in schema))
    broken = [
        f"{name} says {found[0]}"
        for name, path in MODULES
        if name.startswith(parts)
        if (found := asks.search(path.read_text()))
    ]
    assert broken == []


def test_reading_a_trace_imports_neither_torch_nor_triton() -> None:
    reading = _ENGINE | {"kvtrace.converters", "kvtrace.text"}
    broken = [
        f"{name} imports {target}"
        for name, path in MODULES
        if part_of(name) in reading | {"kvtrace.metrics", "kvtrace.clients", "kvtrace.cli"}
        for target in imports_of(name, path)
        if target.split(".")[0] in NOT_IN_READING
    ]
    assert broken == []


def declared_dependencies() -> tuple[set[str], set[str]]:
    """What a user needs, and what the extras bring."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    declared, optional = (
        {re.split(r"[<>=]", line)[0].lower() for line in lines}
        for lines in (project["dependencies"], extras)
    )
    return declared, optional


def imported_distributions() -> set[str]:
    provided_by = packages_distributions()
    return {
        provided_by.get(top, [top])[0].lower()
        for name, path in MODULES
        for target in imports_of(name, path)
        if (top := target.split(".")[0]) not in STANDARD_LIBRARY
    }


def test_declared_dependencies_are_those_that_are_imported() -> None:
    declared, optional = declared_dependencies()
    imported = imported_distributions()
    assert imported - optional - {"kvtrace", "pytest"} == declared  # pytest loads a plugin


def test_what_extras_bring_is_imported() -> None:
    _, optional = declared_dependencies()
    wanted_by_others = {"torch", "triton", "pandas"}  # Spark's workers want pandas
    assert optional <= imported_distributions() | wanted_by_others


def test_every_data_file_beside_our_modules_goes_into_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]
    left_out = []
    for path in tracked_files():
        if not path.is_relative_to(PACKAGE) or "frontend" in path.parts:
            continue
        if path.suffix in {".py", ".so"} or "golden" in path.parts:
            continue
        package = ".".join(path.parent.relative_to(ROOT).parts)
        fitting = [*patterns["*"], *patterns.get(package, [])]
        if not any(path.match(pattern) for pattern in fitting):
            left_out.append(str(path.relative_to(ROOT)))
    assert left_out == []


def test_no_file_names_a_package_registry_or_a_path_of_one_machine() -> None:
    registry = "|".join(["pypi" + r"\.org", "files\\.python" + "hosted", "download\\.py" + "torch"])
    machine = "|".join(["/wo" + "rk/", "/ro" + "ot/", "/tm" + r"p/\w"])
    pattern = re.compile(f"(?:{registry})|(?<![\\w.])(?:{machine})")
    broken = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a picture or a trace
            continue
        broken += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    assert broken == []


def test_text_is_read_in_an_encoding_that_no_setting_changes() -> None:
    """Python's default is the locale's, and may be made an error (`EncodingWarning`)."""
    tops = ("kvtrace", "schema", "converters")
    product = [
        p for p in tracked_files() if p.suffix == ".py" and p.relative_to(ROOT).parts[0] in tops
    ]
    reads = re.compile(r"\.read_text\((?!\s*(?:encoding=|\"utf-8\"))")
    assert [str(path) for path in product if reads.search(path.read_text(encoding="utf-8"))] == []


def test_docstrings_name_what_is_there() -> None:
    """One that opens with a question's word leaves the noun to the reader."""
    question = re.compile(r'^\s*"""(?:What|Which|How|Whether|Where|Why)\b(?!.*\?)', re.MULTILINE)
    texts = [(name, path.read_text(encoding="utf-8")) for name, path in MODULES]
    assert [name for name, text in texts if question.search(text)] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty_names = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
    assert [name for name, _ in MODULES if empty_names & set(name.split("."))] == []


def test_c_says_first_what_it_owns_and_under_which_lock() -> None:
    said = re.compile(r"/\*.*\bOwns\b.*\b(?:lock|nothing|thread)\b.*\*/", re.DOTALL)
    files = sorted(PACKAGE.rglob("_*.[ch]"))
    first = {path: path.read_text(encoding="utf-8").partition("*/")[0] + "*/" for path in files}
    assert files
    assert [path.name for path, text in first.items() if not said.match(text)] == []


#: Folders of tests that are of no one room.
OTHER_TESTS = {
    "corpus",
    "docs",
    "engine",
    "examples",
    "fixtures",
    "gpu",
    "kernels",
    "mutation",
    "packaging",
    "public",
    "support",
}


def test_tests_mirror_the_tree() -> None:
    """A file `test_<module>[_<aspect>].py` is of a module, or of the whole room, in its folder."""
    astray = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        folder = path.parent.relative_to(ROOT / "tests")
        if folder.parts and folder.parts[0] in OTHER_TESTS:
            continue
        room = PACKAGE / folder
        inside = sorted(room.glob("*")) if room.is_dir() else []
        known = {each.stem for each in inside} | {folder.name or "architecture"}
        words = path.stem.removeprefix("test_").split("_")
        if not any("_".join(words[:count]) in known for count in range(1, len(words) + 1)):
            astray.append(str(path.relative_to(ROOT)))
    assert astray == []


@pytest.mark.parametrize(
    "page",
    [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/howitworks.md",
        "docs/contributing/report_view.md",
        "docs/contributing/tests.md",
        "docs/contributing/where.md",
    ],
)
def test_pages_name_files_that_are_there(page: str) -> None:
    named = re.findall(r"`([\w./]+(?:\.py|/))`", (ROOT / page).read_text(encoding="utf-8"))
    files = {str(path.relative_to(ROOT)) for path in tracked_files()}
    known = files | {f"{parent}/" for file in files for parent in Path(file).parents}
    wrong = [name for name in named if not any(f"/{each}".endswith(f"/{name}") for each in known)]
    assert [name for name in wrong if not name.startswith("out/")] == []


@pytest.mark.process
@pytest.mark.parametrize("name", ["schema", "converters"])
def test_a_folder_at_the_top_is_a_link_in_the_package_and_imported_by_that_alone(name: str) -> None:
    assert (PACKAGE / name).readlink() == Path("..", name)
    ask = f"import kvtrace.{name} as found; print(found.__file__); import {name}"
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == str(PACKAGE / name / "__init__.py")
    assert done.stderr.endswith(f"ImportError: import it as kvtrace.{name}\n")


def test_the_package_holds_nothing_else_of_the_checkout() -> None:
    found = [
        name
        for name in ("tests", "benchmarks", "corpus", "kvtrace")
        if find_spec(f"kvtrace.{name}")
    ]
    assert found == []

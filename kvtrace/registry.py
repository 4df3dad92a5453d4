"""One registry: what kvtrace, its add-ons and other packages offer, as entry points of Python.

An entry is a line `name = module:attribute` under `[group]`, as packages write them in their
`entry_points.txt` (https://packaging.python.org/specifications/entry-points/). kvtrace's own
entries are in `kvtrace/entry_points.txt`, those of an add-on in its folder's, those of another
package in its `.dist-info`: to register is one line, and what a line names is imported when it is
asked for.

It imports nothing, for every process that starts with `KVTRACE` set reads it. `importlib.metadata`
would take 20 ms. Groups:

| group `kvtrace.…` | name | what it names |
|---|---|---|
| `api` | of the function | what `kvtrace` offers to Python besides its own, under that name |
| `around_launches` | of what it is | see `kvtrace.backends.compiled_kernels.around` |
| `backends` | of the backend | a `kvtrace.capture.backends.Backend` |
| `libraries` | a module whose import a backend waits for | that backend |
| `libraries_without_gpu` | one that is waited for with `KVTRACE_DEVICE=cpu` alone | that backend |
| `stand_ins` | a package | returns specs of modules that replace it while recording |
| `clients` | of the client | a class, see `kvtrace.clients` |
| `commands` | of the command | a `kvtrace.cli.Command`, or the function that it runs |
| `converters` | of the converter | a `kvtrace.converters.registry.Converter` |
| `devices` | of a family | `DeviceLimits`, several |
| `diff` | of who adds it | a `kvtrace.converters.diff.added.DiffAddition` |
| `engines` | of the engine | a `kvtrace.analysis.engines.Engine`: what `--engine` names |
| `importers` | of the tool | a `kvtrace.converters.importers.registry.Importer` |
| `kept_runs` | of their keeper | returns the runs under a name: `kvtrace diff --against NAME` |
| `missing_passes` | of the pass | runs it where a trace lacks it: `analysis/completing.py` |
| `modules` | of a module below `kvtrace` | that module, `:attribute` left out |
| `profile_sections` | of the section | a `ProfileSection` of `converters/profile/` |
| `pytest` | of the option, as `kvtrace-tolerances` | takes pytest's `Config` where it is given |
| `report_views` | of the view's blocks | a `kvtrace.converters.report.sources.BlockSource` |
| `rules` | of the set | `kvtrace.verdicts.rules.added.AddedRules`, and who judges by them |
| `settings` | of the setting | a `kvtrace.settings.AddedSetting` |
| `stores` | a scheme of addresses, as `s3` | opens one, as a `kvtrace.schema.remote.RemoteFolder` |
| `timeline_parts` | of the part | a `kvtrace.converters.timeline.timeline.TimelinePart` |
| `trace_methods` | of the method | what `kvtrace.open(…)` gives has it, too: a function of that |
| `variables` | of the variable | one sentence on what it does |

Tables need no entry: the pass that writes them writes their definitions
(`kvtrace.schema.client_tables`).
"""

import os
import sys

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FILE = "entry_points.txt"
_HERE = os.path.dirname(__file__)  # noqa: PTH120 - pathlib takes longer than all of this
_INSTALLED = (".dist-info", ".egg-info")
_MOST_BYTES = 1 << 20

_own: "list[Entry] | None" = None
#: Entries of the packages in a folder of `sys.path`, by the folder.
_in_folders: "dict[str, list[tuple[str, Entry]]]" = {}
#: Places of entries that were reported as not loadable.
_failed: "set[str]" = set()


class Entry:
    """A line: its group (without `kvtrace.`), name, and place as `module:attribute`."""

    __slots__ = ("group", "name", "place")

    def __init__(self, group: str, name: str, place: str) -> None:
        self.group = group
        self.name = name
        self.place = place

    def __repr__(self) -> str:
        return f"{self.name} = {self.place}"

    def load(self) -> "Any":
        """Import what the entry names; raises whatever its module raises."""
        from importlib import import_module

        module, _, path = self.place.partition(":")
        found = import_module(module)
        for attribute in path.split(".") if path else ():
            found = getattr(found, attribute)
        return found


def own_entries(group: str) -> "list[Entry]":
    """Return the entries of kvtrace and of its add-ons: kvtrace's first, add-ons by their names."""
    global _own
    if _own is None:
        _own = list(_read(_HERE))
        for folder in sorted(os.listdir(f"{_HERE}/addons")):  # noqa: PTH208
            _own.extend(_read(f"{_HERE}/addons/{folder}"))
    return [entry for entry in _own if entry.group == group]


def installed_entries(group: str) -> "list[Entry]":
    """Return the entries of other packages that are installed in the folders of `sys.path`.

    Of packages of one name the first counts, as it does for their modules.
    """
    packages: dict[str, list[Entry]] = {}
    for folder in sys.path:
        if folder not in _in_folders:
            _in_folders[folder] = list(_in_folder(folder))
        found: dict[str, list[Entry]] = {}
        for package, entry in _in_folders[folder]:
            found.setdefault(package, []).append(entry)
        for package, listed in found.items():
            packages.setdefault(package, listed)
    return [entry for listed in packages.values() for entry in listed if entry.group == group]


def entries(group: str) -> "list[Entry]":
    """Return the entries of a group: kvtrace's and its add-ons', then other packages'."""
    return [*own_entries(group), *installed_entries(group)]


def entry(group: str, name: str) -> "Entry | None":
    """Return the first entry of a name; other packages are not searched if kvtrace has one."""
    for listed in (own_entries, installed_entries):
        for each in listed(group):
            if each.name == name:
                return each
    return None


def loaded(group: str, name: str | None = None) -> "Iterator[tuple[str, Any]]":
    """Import every entry of a group (of a name) that can be, and return each with its name."""
    for each in own_entries(group):
        if name in (None, each.name):
            yield each.name, each.load()
    for each in installed_entries(group):
        found = loaded_or_none(each) if name in (None, each.name) else None
        if found is not None:
            yield each.name, found


def loaded_or_none(entry: Entry) -> "Any":
    """Import what an entry of another package names, whose fault must not stop kvtrace.

    None where that fails: it is then said on standard error, once.
    """
    try:
        return entry.load()
    except Exception as error:  # noqa: BLE001 - whatever another package raises
        if entry.place not in _failed:
            _failed.add(entry.place)
            problem = f"{type(error).__name__}: {error}"
            print(f"kvtrace: {entry.group}: {entry} cannot be loaded: {problem}", file=sys.stderr)
        return None


def _in_folder(folder: str) -> "Iterator[tuple[str, Entry]]":
    """Return the entries of the packages that are installed in a folder, with their names."""
    try:
        names = sorted(os.listdir(folder or "."))  # noqa: PTH208
    except OSError:  # an archive, or not there
        return
    for name in names:
        if name.endswith(_INSTALLED):
            package = name.rpartition(".")[0].partition("-")[0].lower()
            if package != "kvtrace":
                for each in _read(f"{folder or '.'}/{name}"):
                    yield package, each


def _read(folder: str) -> "Iterator[Entry]":
    """Return kvtrace's groups of a folder's `entry_points.txt`; of none where it has none."""
    try:
        file = os.open(f"{folder}/{_FILE}", os.O_RDONLY)  # three times as fast as open()
    except OSError:
        return
    try:
        content = os.read(file, _MOST_BYTES)
    finally:
        os.close(file)
    if b"[kvtrace." not in content:
        return
    group = None
    for line in content.decode(errors="replace").splitlines():
        line = line.strip()
        if line.startswith("["):
            group = line[9:-1] if line.startswith("[kvtrace.") else None
        elif group and "=" in line and not line.startswith(("#", ";")):
            name, _, place = line.partition("=")
            yield Entry(group, name.strip(), place.partition("[")[0].strip())

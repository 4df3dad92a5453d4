"""Registry of the parts of kvtrace, add-ons and other packages, by Python entry points.

An entry is a line `name = module:attribute` under `[group]`, as packages write them in their
`entry_points.txt` (https://packaging.python.org/specifications/entry-points/). kvtrace's own
entries are in `kvtrace/entry_points.txt`, an add-on's in the `entry_points.txt` of the add-on's
folder, another package's in its `.dist-info`. So a part is registered by one line, and imported at
the first use.

This module imports nothing, since every process that starts with `KVTRACE` set reads the registry.
`importlib.metadata` would take 20 ms. Groups:

| group `kvtrace.…` | name | object |
|---|---|---|
| `api` | of the function | a further public function of `kvtrace`, under that name |
| `at_failure` | of the function | called with the session and the process's last exception |
| `at_start` | a variable | called with the trace's folder when a process starts with it set |
| `around_launches` | of the hook | see `kvtrace.backends.compiled_kernels.around` |
| `backends` | of the backend | a `kvtrace.capture.backends.Backend` |
| `libraries` | a module whose import a backend waits for | that backend |
| `libraries_without_gpu` | the same, only with `KVTRACE_DEVICE=cpu` | that backend |
| `stand_ins` | a package | returns specs of modules that replace the package while recording |
| `clients` | of the client | a class, see `kvtrace.clients` |
| `commands` | of the command | a `kvtrace.cli.Command`, or the command's function |
| `converters` | of the converter | a `kvtrace.converters.registry.Converter` |
| `devices` | of a family | a sequence of `DeviceLimits` |
| `diff_kept`, `diff_meanings`, `diff_results` | of the source | see `converters/diff/added.py` |
| `diff_stages` | a stage before the compiler's | a `kvtrace.converters.diff.added.EarlierStage` |
| `engines` | of the engine | a `kvtrace.cli.options.Engine` for `--engine` |
| `generic_forms` | a stage | returns a text of it, given its Triton's version, as is judged |
| `importers` | of the tool | a `kvtrace.converters.importers.registry.Importer` |
| `import_into` | of what is added | `kvtrace import --into`: a `kvtrace.cli.import_.Adding` |
| `kept_runs` | of their keeper | returns the runs under a name: `kvtrace diff --against NAME` |
| `layout_costs` | a stage | returns what accesses of shared memory and conversions cost |
| `machine_parts` | of the part | returns a row of `doctor`: a `kvtrace.analysis.machine.Part` |
| `missing_passes` | of the pass | runs the pass if a trace lacks it: `analysis/completing.py` |
| `modules` | of a module below `kvtrace` | that module, `:attribute` left out |
| `profile_sections` | of the section | a `ProfileSection` of `converters/profile/` |
| `pytest` | of the option, as `kvtrace-tolerances` | called with pytest's `Config` |
| `report_views` | of the view's blocks | a `kvtrace.converters.report.sources.BlockSource` |
| `rules` | of the set | `kvtrace.verdicts.rules.choice.AddedRules`: rules and their judge |
| `settings` | of the setting | a `kvtrace.settings.AddedSetting` |
| `stores` | a scheme, as `s3` | opens an address, as a `kvtrace.schema.remote.RemoteFolder` |
| `trace_methods` | of the method | a function that becomes a method of `kvtrace.open(…)`'s result |
| `trace_notes` | of the notes | called with trace and runs; yields notes of `info` and the report |
| `variables` | of the variable | a sentence that says what the variable does |

Tables need no entry: a pass writes definitions with the tables (`kvtrace.schema.client_tables`).
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
    """An entry point: group (without `kvtrace.`), name, and place, as `module:attribute`."""

    __slots__ = ("group", "name", "place")

    def __init__(self, group: str, name: str, place: str) -> None:
        self.group = group
        self.name = name
        self.place = place

    def __repr__(self) -> str:
        return f"{self.name} = {self.place}"

    def load(self) -> "Any":
        """Import and return the entry's object; errors of the import are raised."""
        from importlib import import_module

        module, _, path = self.place.partition(":")
        loaded: Any = import_module(module)
        for attribute in path.split(".") if path else ():
            loaded = getattr(loaded, attribute)
        return loaded


def own_entries(group: str) -> "list[Entry]":
    """Return a group's entries of kvtrace, then of its add-ons in alphabetical order."""
    global _own
    if _own is None:
        _own = list(_read(_HERE))
        for folder in sorted(os.listdir(f"{_HERE}/addons")):  # noqa: PTH208
            _own.extend(_read(f"{_HERE}/addons/{folder}"))
    return [entry for entry in _own if entry.group == group]


def installed_entries(group: str) -> "list[Entry]":
    """Return a group's entries of other packages, which are installed in folders of `sys.path`.

    Of packages with the same name, the first in `sys.path` counts, as for modules.
    """
    packages: dict[str, list[Entry]] = {}
    for folder in sys.path:
        if folder not in _in_folders:
            _in_folders[folder] = list(_in_folder(folder))
        by_package: dict[str, list[Entry]] = {}
        for package, entry in _in_folders[folder]:
            by_package.setdefault(package, []).append(entry)
        for package, listed in by_package.items():
            packages.setdefault(package, listed)
    return [entry for listed in packages.values() for entry in listed if entry.group == group]


def entries(group: str) -> "list[Entry]":
    """Return the entries of a group: of kvtrace and add-ons, then of other packages."""
    return [*own_entries(group), *installed_entries(group)]


def entry(group: str, name: str) -> "Entry | None":
    """Return the first entry of a group named `name`, or None; other packages are searched last."""
    for listed in (own_entries, installed_entries):
        for candidate in listed(group):
            if candidate.name == name:
                return candidate
    return None


def loaded(group: str, name: str | None = None) -> "Iterator[tuple[str, Any]]":
    """Yield name and object of a group's entries; with `name`, only of entries with that name.

    Entries of other packages that cannot be imported are left out.
    """
    for entry in own_entries(group):
        if name in (None, entry.name):
            yield entry.name, entry.load()
    for entry in installed_entries(group):
        value = loaded_or_none(entry) if name in (None, entry.name) else None
        if value is not None:
            yield entry.name, value


def loaded_or_none(entry: Entry) -> "Any":
    """Return the object of another package's entry, or None if the import fails.

    A failure is printed on standard error, once.
    """
    try:
        return entry.load()
    except Exception as error:  # noqa: BLE001 - whatever another package raises
        if entry.place not in _failed:
            _failed.add(entry.place)
            from kvtrace.surroundings import print_error

            problem = f"{type(error).__name__}: {error}"
            print_error(f"{entry.group}: {entry} cannot be loaded: {problem}")
        return None


def _in_folder(folder: str) -> "Iterator[tuple[str, Entry]]":
    """Yield (package, entry) of the packages that are installed in a folder."""
    try:
        names = sorted(os.listdir(folder or "."))  # noqa: PTH208
    except OSError:  # an archive, or not there
        return
    for name in names:
        if name.endswith(_INSTALLED):
            package = name.rpartition(".")[0].partition("-")[0].lower()
            if package != "kvtrace":
                for entry in _read(f"{folder or '.'}/{name}"):
                    yield package, entry


def _read(folder: str) -> "Iterator[Entry]":
    """Yield the entries of kvtrace's groups in a folder's `entry_points.txt`, if there is one."""
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
    current_group = None
    for line in content.decode(errors="replace").splitlines():
        line = line.strip()
        if line.startswith("["):
            current_group = line[9:-1] if line.startswith("[kvtrace.") else None
        elif current_group and "=" in line and not line.startswith(("#", ";")):
            name, _, object_path = line.partition("=")
            yield Entry(current_group, name.strip(), object_path.partition("[")[0].strip())

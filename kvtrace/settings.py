"""Settings of a recording: one typed object, of keyword arguments, the environment or the project.

The environment's names are the fields' names in capitals after `KVTRACE_`. What the environment
does not set is set by the project (`[tool.kvtrace]` in pyproject.toml), else it has its default.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import Any, Final, Literal, get_args

from kvtrace import registry
from kvtrace.amounts import Limit, limit_of, seconds_of
from kvtrace.project import Project, read_project
from kvtrace.schema.errors import PACKAGES, BadSetting, nearest

Mode = Literal["launch", "timeline", "ops"]
Tensors = Literal["none", "index", "int", "all"]
Sanitize = Literal["off", "warn", "raise"]
Source = Literal["off", "used", "files"]
Compile = Literal["ttir", "background", "full"]
Device = Literal["none", "answers", "cpu"]

#: Settings with a few values, and those.
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "mode": get_args(Mode),
    "tensors": get_args(Tensors),
    "sanitize": get_args(Sanitize),
    "source": get_args(Source),
    "compile": get_args(Compile),
    "device": get_args(Device),
}
#: The value that 1, true and the like stand for, of settings that 0 switches off.
_SWITCHED_ON: Final = {"sanitize": "warn", "source": "used"}
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})
_TARGET: Final = re.compile(r"[a-z]\w*:\w+")
#: (setting, test for values that need packages, value used without these packages, packages)
_NEEDS: Final[tuple[tuple[str, Callable[[Any], bool], Any, tuple[str, ...]], ...]] = (
    ("mode", "timeline".__eq__, "launch", ("numpy",)),
    ("mode", "ops".__eq__, "launch", ("numpy", "ml_dtypes", "z3")),
    ("sanitize", "off".__ne__, "off", ("numpy", "ml_dtypes", "z3")),
    ("device", "cpu".__eq__, "none", ("numpy", "ml_dtypes")),
)
#: Variables that are not settings of a recording, and what they do, for docs/settings.md.
OTHER_VARIABLES: Final = {
    "KVTRACE": "the folder of the trace; if it is not set, nothing is recorded",
    "KVTRACE_GROUP": "set by kvtrace: the group that processes of one job share "
    "([timeline](timeline.md))",
    "KVTRACE_DEBUG": "`1` shows the traceback when a command fails unexpectedly",
}
#: Prefixes of variables that kvtrace's own tests read.
_OF_TESTS: Final = ("KVTRACE_TEST_", "KVTRACE_PUBLIC_", "KVTRACE_REQUIRE_")
_SAMPLE: Final = re.compile(r"1/(1000000|[1-9][0-9]{0,5})")
_WINDOW: Final = re.compile(
    r"steps:(?:(?P<counted>.+):)?(?P<first>\d{1,15})-(?P<last>\d{1,15})?"
    r"|time:(?P<from>[^-]+)-(?P<to>[^-]+)?"
    r"|mark:(?P<mark>.+)"
    r"|signal:(?:SIG)?(?P<signal>USR[12])"
)


@dataclass(frozen=True, slots=True)
class RecordedPart:
    """The parsed setting `window`: the part of the program in which launches are recorded.

    Attributes:
        kind: how the part is bounded.
        name: of the mark that is counted or open, or of the signal, as `USR2`.
        begin: number of the first step, or seconds after the start.
        end: number of the last step, which is recorded, or seconds after the start.

    """

    kind: Literal["steps", "time", "mark", "signal"]
    name: str = ""
    begin: float = 0
    end: float = math.inf


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a recording; docs/settings.md is made from these attributes.

    Attributes:
        mode: `launch`, launches and kernels; `timeline`, also when they ran on the device
            ([timeline](timeline.md)); `ops`, also what each op did, where the program runs without
            a GPU.
        tensors: which tensors' contents are kept: `index`, integers of up to 1 MiB that a kernel's
            accesses depend on, at each call's first launch, and at later launches while this takes
            less than 0.5% of the program's time; `int`, all integers, at every launch; `all`, also
            floats, at each call's first launch; or `none`. Of a call, the first 64 distinct
            contents are kept, of up to 64 MiB.
        kernels: kernels to record, by name: globs, separated by commas.
        source: source text that is kept: `used` (also `1`), functions of kernels and of launches
            and what they use from their files, with all other lines blank; `files`, whole files; or
            `off` (also `0`).
        target: what to compile for where there is no GPU: `backend:architecture`.
        compile: how far kernels are compiled where there is no GPU: `ttir`, which suffices to
            execute them; `background`, the same, while another process compiles the later stages
            into the trace; `full`, down to the target's machine code ([running without a
            GPU](howitworks.md#running-without-a-gpu)).
        device: what a program that asks for a GPU gets where there is none: `answers`, queries to
            `torch.cuda` that would fail are answered for the target; `cpu`, for programs that ask
            for CUDA: torch reports one GPU, whose tensors are in the host's memory; or `none` ([a
            missing GPU](howitworks.md#a-missing-gpu)).
        max_calls: unique calls that are kept in memory; a call beyond these is recorded again
            when it recurs.
        sanitize: judges each new call before its first launch: `off` (also `0`), `warn` (also `1`),
            or `raise`, which raises `KernelDefect` instead of launching a call with a defect
            ([sanitizing](sanitize.md)).
        rules: rules for `KVTRACE_SANITIZE` and `kvtrace sanitize`: ids of rules, `default` and
            `all`, separated by commas; `-` before an id leaves it out ([rules](rules/README.md)).
        strict: whether (`1` or `0`) warnings and unknown verdicts count as errors.
        budget: seconds of processor time in which `kvtrace report` replays and judges calls, the
            cheapest first; `kvtrace profile` takes at most 10 of them.
        limit: amounts of bytes (`2GB`), launches (`10M launches`) or time (`1h`), separated by
            commas: recording ends at the first of them, and the program continues; after `ring:`
            the newest of that amount is kept instead, and after `sums:` also what all others add up
            to ([long runs](longruns.md)). Empty: no limit.
        sample: `1/N` records one launch in N in detail, always including each call's first, and
            counts all ([long runs](longruns.md#sampling)). Empty: all in detail.
        window: the part of the program in which launches are recorded: `steps:10-20`, steps that
            the program marks; `time:60s-90s` after the start; `mark:NAME`, while that mark is open;
            `signal:USR2`, from one such signal to the next ([a part of a run](window.md)). Empty:
            all of it.
        ranks: ranks of a job whose device timeline is kept, as `0,8,16`; of the others it has
            collectives alone ([many ranks](profile.md#many-ranks)). Empty: all ranks.
        added: values of `added_settings` that differ from the defaults, by name, in their order.

    """

    mode: Mode = "launch"
    tensors: Tensors = "index"
    kernels: str = "*"
    source: Source = "used"
    target: str = "cuda:90"
    compile: Compile = "full"
    device: Device = "answers"
    max_calls: int = 100_000
    sanitize: Sanitize = "off"
    rules: str = "default"
    strict: bool = False
    budget: float = 30
    limit: str = ""
    sample: str = ""
    window: str = ""
    ranks: str = ""
    added: tuple[tuple[str, str | int], ...] = ()

    @property
    def limits(self) -> Limit:
        """The parsed setting `limit`."""
        return limit_of(self.limit)

    @property
    def one_in(self) -> int:
        """N of the setting `sample`: one launch in N is recorded in detail."""
        return _one_in(self.sample)

    @property
    def recorded_part(self) -> RecordedPart | None:
        """The parsed setting `window`; None: the whole program."""
        return _recorded_part(self.window)

    def records_kernel(self, name: str) -> bool:
        """Return whether launches of the kernel `name` are recorded (setting `kernels`)."""
        return any(fnmatchcase(name, glob.strip()) for glob in self.kernels.split(","))

    def values(self) -> dict[str, Any]:
        """Return the value of each setting by name, add-ons' settings last."""
        own_values = {name: getattr(self, name) for name in OWN}
        added = dict(self.added)
        return own_values | {
            name: added.get(name, setting.default) for name, setting in added_settings()
        }

    def as_facts(self) -> dict[str, str]:
        """Return all settings except the mode as texts, as in the column `runs.settings`."""
        return {key: str(value) for key, value in self.values().items() if key != "mode"}

    def as_environment(self) -> dict[str, str]:
        """Return the environment variables, by name, that lead to these settings."""
        return {
            f"KVTRACE_{key.upper()}": str(int(value) if isinstance(value, bool) else value)
            for key, value in self.values().items()
        }


DEFAULT: Final = Settings()
#: Names of kvtrace's own settings.
OWN: Final = tuple(field.name for field in fields(Settings) if field.name != "added")


@dataclass(frozen=True, slots=True)
class AddedSetting:
    """A setting that an add-on adds: the registry's group `settings`.

    Attributes:
        name: the name of the keyword argument.
        default: the value by default.
        about: the description for docs/settings.md.
        read: parses a value; raises BadSetting if the value is not valid.
        option: values and help text of the option of `kvtrace run`; None: no option.
        needs: packages besides pyarrow without which a recording ignores the setting.
    """

    name: str
    default: str | int
    about: str
    read: Callable[[Any], str | int]
    option: tuple[str, str] | None = None
    needs: tuple[str, ...] = ()

    def of(self, settings: Settings) -> Any:
        """Return the value of this setting in `settings`."""
        return dict(settings.added).get(self.name, self.default)


def added_settings() -> tuple[tuple[str, AddedSetting], ...]:
    """Return the settings that add-ons and other packages add, by name."""
    loaded = registry.loaded("settings")
    return tuple((name, setting) for name, setting in loaded if name not in OWN)


def setting_names() -> tuple[str, ...]:
    """Return the names of all settings; imports no add-on."""
    return tuple(dict.fromkeys((*OWN, *(entry.name for entry in registry.entries("settings")))))


def other_variables() -> dict[str, str]:
    """Return the variables besides settings, also of add-ons, with their descriptions."""
    return {**OTHER_VARIABLES, **dict(registry.loaded("variables"))}


def settings_from_arguments(base: Settings = DEFAULT, **arguments: Any) -> Settings:
    """Return `base` with the settings of keyword arguments.

    Raises:
        BadSetting: the setting is unknown, or its value is not valid.
    """
    for name, value in arguments.items():
        if name in OWN:
            base = replace(base, **{name: _checked(name, value)})
            continue
        names = setting_names()
        if name not in names:
            raise BadSetting(
                f"there is no setting {name!r}{nearest(name, names)}; the settings are "
                f"{', '.join(sorted(names))}"
            )
        base = _with_added(base, name, value)
    return base


def _with_added(base: Settings, name: str, value: Any) -> Settings:
    """Return `base` with a value of an add-on's setting."""
    setting = dict(added_settings()).get(name)
    if setting is None:
        raise BadSetting(f"the setting {name} cannot be read: its package cannot be loaded")
    added = dict(base.added) | {name: setting.read(value)}
    if added[name] == setting.default:
        del added[name]
    return replace(base, added=tuple(sorted(added.items())))


def settings_in_force(environment: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """Return the settings of the environment and the project, and sentences on problems."""
    base, problems = settings_from_project(read_project())
    settings, more_problems = settings_from_environment(environment, base)
    return settings, (*problems, *more_problems)


def settings_from_project(project: Project) -> tuple[Settings, tuple[str, ...]]:
    """Return the settings of `[tool.kvtrace]`, and sentences on problems.

    A list of texts is one text, separated by commas. Tables, as `[tool.kvtrace.diff]`, are read
    elsewhere.
    """
    settings, problems = DEFAULT, [project.problem] if project.problem else []
    for key, value in project.table.items():
        if isinstance(value, dict):
            continue
        value = ",".join(map(str, value)) if isinstance(value, list) else value
        try:
            settings = settings_from_arguments(settings, **{key.replace("-", "_"): value})
        except BadSetting as error:
            problems.append(f"{key} in {project.file}: {error}; ignored")
    return settings, tuple(problems)


def settings_from_environment(
    environment: Mapping[str, str], base: Settings = DEFAULT
) -> tuple[Settings, tuple[str, ...]]:
    """Return `base` with the variables `KVTRACE_MODE` and so on, and sentences on problems.

    A setting with an invalid value stays as in `base`. There is one sentence for each invalid
    value, and one for each unknown variable that begins with `KVTRACE_`.
    """
    settings, problems = base, []
    for name in _names(environment):
        value = environment.get(f"KVTRACE_{name.upper()}")
        if not value:
            continue
        try:
            settings = settings_from_arguments(settings, **{name: value})
        except BadSetting as error:
            values = base.values()
            effect = f"using {values[name]!r}" if name in values else "ignored"
            problems.append(f"KVTRACE_{name.upper()}: {error}; {effect}")
    return settings, (*problems, *_unknown(environment))


def missing(packages: Iterable[str]) -> str | None:
    """Return text that names the packages that are not installed; None if all are."""
    lacking = [name for name in packages if not _is_installed(name)]
    if not lacking:
        return None
    install_names = " ".join(PACKAGES[name] for name in lacking)
    are = "is" if len(lacking) == 1 else "are"
    return f"{' and '.join(lacking)}, which {are} not installed (pip install {install_names})"


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # raised by a finder of the program
        return False
    except ValueError:  # the program made a module of that name, without a spec
        return True


def without_missing_packages(settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Return settings that need no missing package, and a sentence on each changed setting.

    A setting whose packages are not installed gets a value that needs none.
    """
    reasons = []
    for name, needs_packages, fallback, packages in _NEEDS:
        value = getattr(settings, name)
        lacking = missing(packages) if needs_packages(value) else None
        if lacking is not None:
            settings = replace(settings, **{name: fallback})
            reasons.append(f"KVTRACE_{name.upper()}={value} needs {lacking}")
    added = dict(settings.added)
    for name, setting in added_settings() if added else ():
        lacking = missing(setting.needs) if added.get(name) else None
        if lacking is not None:
            reasons.append(f"KVTRACE_{name.upper()}={added.pop(name)} needs {lacking}")
            settings = replace(settings, added=tuple(added.items()))
    return settings, tuple(f"{reason}; launches are recorded without it" for reason in reasons)


def _names(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of settings that the environment's variables may set.

    Other packages are searched only if a variable is not of kvtrace.
    """
    own_names = (*OWN, *(entry.name for entry in registry.own_entries("settings")))
    own_variables = {f"KVTRACE_{name.upper()}" for name in own_names} | OTHER_VARIABLES.keys()
    variables = (name for name in environment if name.startswith("KVTRACE_"))
    return own_names if own_variables.issuperset(variables) else setting_names()


def _unknown(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each unknown variable, except variables of kvtrace's tests."""
    variables = {f"KVTRACE_{name.upper()}" for name in _names(environment)} | OTHER_VARIABLES.keys()
    if not variables.issuperset(name for name in environment if name.startswith("KVTRACE_")):
        variables |= {entry.name for entry in registry.entries("variables")}
    return tuple(
        f"there is no variable {name}{nearest(name, variables)}; kvtrace doctor --settings lists "
        "them"
        for name in sorted(environment)
        if name.startswith("KVTRACE_") and name not in variables and not name.startswith(_OF_TESTS)
    )


def _checked(name: str, value: Any) -> Any:
    if name in _CHOICES:
        return _one_of(name, _switched(value, name), _CHOICES[name])
    if name == "strict":
        return _switch(name, value)
    if name == "max_calls":
        return whole_number(name, value)
    if name == "budget":
        return _budget(value)
    if name in _READ and isinstance(value, str):
        _READ[name](value)
        return value
    if not isinstance(value, str) or not value.strip():
        raise BadSetting(f"the setting {name} must be text, not {value!r}")
    if name == "target" and not _TARGET.fullmatch(value):
        raise BadSetting(
            f"the target {value!r} is not of the form backend:architecture, as cuda:90"
        )
    return value


def _one_in(text: str) -> int:
    """Return N of the setting `sample`; 1 if the setting is empty."""
    match = _SAMPLE.fullmatch(text.replace(" ", ""))
    if match is None and text.strip():
        raise BadSetting(f"the setting sample has to be 1/N, N up to 1000000, not {text!r}")
    return int(match[1]) if match else 1


def _recorded_part(text: str) -> RecordedPart | None:
    """Return the parsed setting `window`; None if it is empty."""
    if not text.strip():
        return None
    match = _WINDOW.fullmatch(text.strip())
    if match is None:
        raise _bad_window(text)
    if match["mark"]:
        return RecordedPart("mark", match["mark"])
    if match["signal"]:
        return RecordedPart("signal", match["signal"].upper())
    if match["first"]:
        begin, end = float(match["first"]), float(match["last"] or math.inf)
        part = RecordedPart("steps", match["counted"] or "step", begin, end)
        is_empty = end < begin
    else:
        begin, end = seconds_of(match["from"]), seconds_of(match["to"]) if match["to"] else math.inf
        part = RecordedPart("time", "", begin, end)
        is_empty = not end > begin
    if is_empty:
        raise _bad_window(text)
    return part


def _bad_window(text: str) -> BadSetting:
    return BadSetting(
        "the setting window is steps:FIRST-LAST, as steps:10-20 (of the mark step; of another, "
        "steps:NAME:10-20), time:BEGIN-END, as time:60s-90s, mark:NAME, signal:USR1 or "
        f"signal:USR2, and a part that does not end before it begins, not {text!r}"
    )


def _require_ranks(text: str) -> None:
    if text.strip() and not all(rank.strip().isdecimal() for rank in text.split(",")):
        raise BadSetting(
            f"the setting ranks has to be numbers separated by commas, as 0,8,16, not {text!r}"
        )


#: Settings with a syntax, and their parsers.
_READ: Final[dict[str, Callable[[str], Any]]] = {
    "limit": limit_of,
    "sample": _one_in,
    "window": _recorded_part,
    "ranks": _require_ranks,
}


def _one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        choices_text = ", ".join(choices)
        raise BadSetting(f"the setting {name} has to be one of {choices_text}, not {value!r}")
    return str(value)


def _switched(value: Any, name: str) -> Any:
    """Return the value that 1, 0, true, false and the like stand for in the setting `name`."""
    if name not in _SWITCHED_ON:
        return value
    text = str(value).lower()
    return _SWITCHED_ON[name] if text in _TRUE else "off" if text in _FALSE else text


def _switch(name: str, value: Any) -> bool:
    text = str(value).lower()
    if text in _TRUE | _FALSE:
        return text in _TRUE
    raise BadSetting(f"the setting {name} has to be 1 or 0, not {value!r}")


def _budget(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = math.nan
    if isinstance(value, bool) or not 0 <= seconds < math.inf:
        raise BadSetting(f"the setting budget has to be a number of seconds, not {value!r}")
    return int(seconds) if seconds == int(seconds) else seconds


def whole_number(name: str, value: Any) -> int:
    """Return a setting's value as a whole number above 0; BadSetting for other values."""
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise BadSetting(f"the setting {name} has to be a whole number above 0, not {value!r}")
    return number

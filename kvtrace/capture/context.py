"""Context of a run: command, directory, versions, devices, ranks, and the checked-out commit.

The background thread reads the context, and only from modules that the program has loaded already:
nothing here imports torch, starts a GPU or waits for the program.
"""

import os
import platform
import re
import shlex
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from kvtrace.capture.groups import group_id, rank_facts
from kvtrace.capture.host_devices import lies_in_host_memory
from kvtrace.capture.processes import output_of
from kvtrace.capture.threads import RecordingThread

#: Seconds that one `git` command may take, and that the end of a run waits for all commands.
GIT_TIMEOUT: Final = 10.0
GIT_PATIENCE: Final = 3.0


def process_facts() -> dict[str, Any]:
    """Return columns of `runs` for this process: command, folder, pid, group id, rank."""
    environment = os.environ
    return {
        "command": shlex.join(masked(getattr(sys, "orig_argv", sys.argv))),
        "directory": _directory(),
        "pid": os.getpid(),
        "group_id": group_id(environment),
        **rank_facts(environment),
    }


def library_versions() -> dict[str, str]:
    """Return versions, by name, of Python, kvtrace, the driver and imported libraries."""
    from kvtrace.version import __version__

    versions = {
        "python": platform.python_version(),
        "kvtrace": __version__,
        "platform": _platform(),
    }
    for name in ("triton", "torch", "numpy", "jax"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            versions[name] = version
    torch = sys.modules.get("torch")
    for name in ("cuda", "hip", "xpu"):
        version = getattr(getattr(torch, "version", None), name, None)
        if isinstance(version, str):
            versions[name] = version
    driver = _driver_version()
    if driver is not None:
        versions["driver"] = driver
    return versions


def devices() -> list[dict[str, Any]]:
    """Return properties of each accelerator; [] before torch has started them."""
    torch = sys.modules.get("torch")
    for kind in ("cuda", "xpu"):  # AMD's devices are "cuda" as well
        interface = getattr(torch, kind, None)
        if interface is None or lies_in_host_memory(kind):
            continue  # a reported one may not exist
        if interface.is_initialized():
            return [_device(interface, index) for index in range(interface.device_count())]
    return []


def _device(interface: Any, index: int) -> dict[str, Any]:
    properties = interface.get_device_properties(index)
    return {
        "index": index,
        "name": properties.name,
        "capability": _capability(properties),
        "memory_bytes": properties.total_memory,
    }


def _capability(properties: Any) -> str | None:
    """Return the compute capability ("9.0"), or AMD's architecture ("gfx942"), else None."""
    if getattr(getattr(sys.modules.get("torch"), "version", None), "hip", None) is not None:
        return str(properties.gcnArchName).partition(":")[0]
    if hasattr(properties, "major"):
        return f"{properties.major}.{properties.minor}"
    return None


class GitFacts:
    """Commit, branch and changes of the program's Git checkout, read in a separate thread."""

    def __init__(self) -> None:
        self._facts: dict[str, Any] = {}
        self._thread = RecordingThread(self._read)
        try:
            self._thread.start()
        except RuntimeError:  # the interpreter is ending and starts no threads
            self._read()

    def facts(self, wait: bool = False) -> dict[str, Any]:
        """Return the `git_…` columns of `runs` that git has reported so far.

        With `wait`, waits up to `GIT_PATIENCE` seconds for git to finish.
        """
        if wait:
            self._thread.join(GIT_PATIENCE)
        return dict(self._facts)

    def _read(self) -> None:
        for folder in _program_folders():
            output = _git(folder, "rev-parse", "--show-toplevel", "HEAD")
            if output is None:  # no checkout, or one without a commit
                continue
            root, _, commit = output.rpartition("\n")
            self._facts |= {"git_root": root, "git_commit": commit}
            self._read_status(root)
            return

    def _read_status(self, root: str) -> None:
        """Store branch and changes as `git status` prints them (git-status(1), version 2)."""
        status = _git(root, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
        if status is None:
            return
        lines = status.splitlines()
        branch = next((line for line in lines if line.startswith("# branch.head ")), "")
        name = branch.removeprefix("# branch.head ")
        self._facts["git_branch"] = None if name in ("", "(detached)") else name
        self._facts["git_dirty"] = any(not line.startswith("#") for line in lines)


class RunContext:
    """Columns of `runs` that are known only while the program runs: versions, devices, ranks, git.

    Devices and ranks stay known after the program has closed them.
    """

    def __init__(self) -> None:
        self._git: GitFacts | None = None
        self._devices: list[dict[str, Any]] = []
        self._ranks: dict[str, int] = {}

    def begin_git(self) -> None:
        """Begin to read git's facts."""
        self._git = GitFacts()

    def facts(self, wait: bool = False) -> dict[str, Any]:
        """Return what is known so far; with `wait`, git has some seconds to finish."""
        git = {} if self._git is None else self._git.facts(wait)
        self._devices = self._devices or devices()
        self._ranks |= rank_facts(os.environ)
        context = {"versions": library_versions(), "devices": self._devices}
        return context | self._ranks | git


def _program_folders() -> list[str]:
    """Return folders that may lie in the program's checkout: the script's, the working directory.

    The folder of a script that is installed in a virtual environment, as pytest's, is left out:
    the environment may lie in an unrelated checkout.
    """
    folders = []
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if isinstance(script, str):
        folder = Path(script).resolve().parent
        environment = Path(sys.prefix).resolve() if sys.prefix != sys.base_prefix else None
        if environment is None or not folder.is_relative_to(environment):
            folders.append(str(folder))
    directory = _directory()
    if directory is not None and directory not in folders:
        folders.append(directory)
    return folders


def _git(folder: str, *arguments: str) -> str | None:
    environment = {key: value for key, value in os.environ.items() if key != "KVTRACE"}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        output = output_of(["git", "-C", folder, *arguments], environment, GIT_TIMEOUT)
    except OSError:
        return None  # no git, or it hangs: the run is recorded without its commit
    return None if output is None else output.decode("utf-8", "replace").strip()


def _directory() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        return None  # the working directory was removed


@lru_cache(maxsize=1)
def _platform() -> str:
    """Return what `platform.platform()` does, which starts a process to find it."""
    system = os.uname()
    libc = "".join(platform.libc_ver())
    return f"{system.sysname}-{system.release}-{system.machine}" + (f"-with-{libc}" if libc else "")


@lru_cache(maxsize=1)
def _driver_version() -> str | None:
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    words = text.split()
    return next((word for word in words if word[:1].isdigit() and "." in word), None)


MASK: Final = "***"

#: Endings of the names of secrets; short words only after a separator.
_WORDS: Final = (
    r"(?:token|secret|signature|(?<![\w.-])sig|password|passwd|passphrase|credentials?|authorization|cookie|"
    r"(?:^|[-_.])(?:pass|pwd|pw|auth|auth[-_]?header|bearer)|^-{1,2}key|^-{1,2}tokens(?!=\d+$)|"
    r"(?:api|access|account|private|auth|secret|signing|encryption|license|storage|wandb)[-_]?key)"
)
#: Names of options and variables whose values are secrets.
_NAME: Final = re.compile(rf"{_WORDS}$", re.IGNORECASE)
#: The same inside of an argument: {"token": "x"}, host=h password=x, ?api_key=x&n=1.
_WITHIN: Final = re.compile(
    rf"(?P<name>(?:^|[\s\"'{{,;?&(\[])[\w.-]*?{_WORDS}"
    r"(?:[\"']?\]?\s*[=:]\s*[\"']?|[\"']\s*,\s*[\"']))(?!//)[^\s\"',;&}})]+",
    re.IGNORECASE,
)
#: A header's value: the word after Bearer and a separator.
_BEARER: Final = re.compile(r"\b(Bearer[\s:=]\s*)\S+", re.IGNORECASE)
_SCHEME: Final = re.compile(r"(bearer|basic|digest):?", re.IGNORECASE)
#: Beginnings of tokens by their issuers. Those of the rules of gitleaks (config/gitleaks.toml of
#: 22 July 2026) that are not words of a command line, and of services for models.
_ISSUED: Final = (
    r"hf_|api_org_|sk[-_]|pk_|rk_|gsk_|r8_|pplx-|nvapi-|gh[pousr]_|github_pat_|"
    r"gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-|xox[abeoprs][-.]|xapp-|AKIA|ASIA|ABIA|ACCA|"
    r"LTAI|AIza|ya29\.|GOCSPX-|npm_|pypi-|rubygems_|CLOJARS_|do[oprt]_v1_|dp\.(?:ct|pt|st)\.|dt0c01\.|"
    r"duffel_|FLWPUBK|FLWSECK|glsa_|hv[bs]\.|HRKU-|lin_api_|NRAK-|NRII-|NRJS-|ntn_|ops_eyJ|PMAK-|"
    r"pscale_(?:oauth|pw|tkn)_|rdme_|sgp_|shippo_|shp(?:at|ca|pa|ss)_|SG\.|sm_[aps]at_|sntry[su]_|"
    r"sq0\w{3}-|tfp_|xkeysib-|bedrock-api-key-|AGE-SECRET-KEY-1|ATATT3|dckr_pat_|lsv2_"
)
#: The same, tokens that only their length tells from words, and JSON Web Tokens (RFC 7519).
_TOKEN: Final = re.compile(
    rf"\b(?:{_ISSUED})[A-Za-z0-9_\-.]{{12,}}|\b(?:dapi[0-9a-f]{{32}}|EAA[ACM][A-Za-z0-9]{{40,}}|"
    r"glc_[A-Za-z0-9+/=]{32,}|(?:fo1|fm[12])_[\w+/=-]{40,}|pul-[0-9a-f]{40}|AKCp[A-Za-z0-9]{60,})|"
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
)
#: Addresses to which whoever knows them may post.
_WEBHOOK: Final = re.compile(
    r"(hooks\.slack\.com/(?:services|triggers|workflows)/|discord(?:app)?\.com/api/webhooks/|"
    r"webhook\.office\.com/)[^\s\"']+"
)
#: The password of a URL: scheme://user:password@host.
_IN_URL: Final = re.compile(r"(?<=://)([^/\s:@]*):([^/\s@]+)@")
#: A user of a URL that is too long for a name.
_USER_IN_URL: Final = re.compile(r"(?<=://)[^/\s:@]{20,}@")
#: Options for what is sent, as curl's: a form or JSON, and no name of a data set.
_SENT: Final = re.compile(r"--data(?:-\w+)*")
_FORM: Final = re.compile(r"[={]")
#: Options for user:password, as curl's.
_USER: Final = ("-u", "--user", "--proxy-user")
#: A port after -p.
_PORT: Final = re.compile(r"\d{1,5}")


def masked(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command, with text that looks like a secret replaced by `***`.

    Masked are the values of options and variables with the name of a secret (`--api-key X`,
    `--key X`, `--token=X`, `HF_TOKEN=X`, `{"password": "X"}`), signatures of URLs, addresses of
    webhooks, forms and JSON after `--data`,
    headers (`Authorization: X`, `Bearer X`), passwords after `-p` (except a number, which is a
    port, and pytest's plugins), in `-u user:X` and in URLs, and tokens with their issuers'
    prefixes. Other secrets are not recognized.
    """
    masked_arguments: list[str] = []
    previous, secret_follows, is_pytest = "", False, False
    for argument in arguments:
        name, sign, value = _parts(argument)
        is_secret = _NAME.search(name) is not None
        if secret_follows and _SCHEME.fullmatch(argument):
            masked_arguments.append(argument)  # a header's scheme, before the secret
        elif secret_follows and not argument.startswith("--"):
            may_be_number = previous == "-p" or previous.endswith("tokens")
            is_port = may_be_number and argument.isdigit()
            masked_arguments.append(argument if is_port else MASK)
            secret_follows = False
        elif is_secret and value and not (name.endswith("tokens") and value.isdigit()):
            masked_arguments.append(f"{name}{sign}{MASK}")
            secret_follows = False
        elif argument.startswith("-p") and not is_pytest and not _PORT.fullmatch(argument[2:]):
            masked_arguments.append(f"-p{MASK}" if argument[2:] else argument)
            secret_follows = argument == "-p"
        elif previous in _USER and sign == ":":
            masked_arguments.append(f"{name}:{MASK}")
        elif _SENT.fullmatch(previous) and _is_sent(argument):
            masked_arguments.append(MASK)
        elif _SENT.fullmatch(name) and sign == "=" and _is_sent(value):
            masked_arguments.append(f"{name}={MASK}")
        else:
            masked_arguments.append(_masked_within(argument))
            names_secret = is_secret and (sign == ":" or (not sign and argument.startswith("-")))
            secret_follows = names_secret or _SCHEME.fullmatch(argument) is not None
        previous, is_pytest = argument, is_pytest or "pytest" in argument
    return masked_arguments


def _is_sent(value: str) -> bool:
    return _FORM.search(value) is not None and "/" not in value.partition("=")[0]


def _parts(argument: str) -> tuple[str, str, str]:
    """Split an argument at its first = or :, and return name, sign and value; "" without a sign."""
    sign = next((letter for letter in argument if letter in "=:"), "")
    name, _, value = argument.partition(sign) if sign else (argument, "", "")
    return name, sign, value


def _masked_within(argument: str) -> str:
    """Return an argument with secrets inside its text masked."""
    text = _IN_URL.sub(rf"\1:{MASK}@", argument)
    text = _WEBHOOK.sub(rf"\1{MASK}", _USER_IN_URL.sub(f"{MASK}@", text))
    text = _BEARER.sub(rf"\1{MASK}", text)
    text = _WITHIN.sub(rf"\g<name>{MASK}", text)
    return _TOKEN.sub(MASK, text)

"""Arguments of a command line that look like secrets, masked before they are recorded."""

import re
from collections.abc import Sequence
from typing import Final

MASK: Final = "***"

#: What the name of a secret ends with; short words only after a separator.
_WORDS: Final = (
    r"(?:token|secret|password|passwd|passphrase|credentials?|authorization|cookie|"
    r"(?:^|[-_.])(?:pass|pwd|pw|auth|auth[-_]?header|bearer)|"
    r"(?:api|access|account|private|auth|secret|signing|encryption|license|storage|wandb)[-_]?key)"
)
#: An option or variable whose value is a secret, by the words of its name.
_NAME: Final = re.compile(rf"{_WORDS}$", re.IGNORECASE)
#: The same inside of an argument: {"token": "x"}, host=h password=x, ?api_key=x&n=1.
_WITHIN: Final = re.compile(
    rf"(?P<name>(?:^|[\s\"'{{,;?&])[\w.-]*?{_WORDS}[\"']?\s*[=:]\s*[\"']?)(?!//)[^\s\"',;&}}]+",
    re.IGNORECASE,
)
#: A header's value: what follows Bearer, whatever separates the two.
_BEARER: Final = re.compile(r"\b(Bearer[\s:=]\s*)\S+", re.IGNORECASE)
_SCHEME: Final = re.compile(r"(bearer|basic|digest):?", re.IGNORECASE)
#: Tokens that their issuers mark by how they begin, and JSON Web Tokens (RFC 7519).
_TOKEN: Final = re.compile(
    r"\b(hf_|sk-|sk_|pk_|rk_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|npm_|"
    r"pypi-|nvapi-)[A-Za-z0-9_\-.]{12,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
)
#: The password of a URL: scheme://user:password@host.
_IN_URL: Final = re.compile(r"(?<=://)([^/\s:@]*):([^/\s@]+)@")
#: Options for user:password, as curl's.
_USER: Final = ("-u", "--user", "--proxy-user")
#: A port after -p.
_PORT: Final = re.compile(r"\d{1,5}")


def masked(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with what looks like a secret replaced by three stars.

    These are the values of options and variables whose names say so (`--api-key X`, `--token=X`,
    `HF_TOKEN=X`, `{"password": "X"}`), headers (`Authorization: X`, `Bearer X`), passwords after
    `-p` (except a number, which is a port, and pytest's plugins), in `-u user:X` and in
    URLs, and tokens that begin as their issuers' do. A secret that looks like anything else is not
    known to be one.
    """
    found: list[str] = []
    before, secret_follows, plugins = "", False, False
    for argument in arguments:
        name, sign, value = _parts(argument)
        is_secret = _NAME.search(name) is not None
        if secret_follows and _SCHEME.fullmatch(argument):
            found.append(argument)  # of a header: the secret comes after it
        elif secret_follows and not argument.startswith("--"):
            is_port = before == "-p" and _PORT.fullmatch(argument)
            found.append(argument if is_port else MASK)
            secret_follows = False
        elif is_secret and value:
            found.append(f"{name}{sign}{MASK}")
            secret_follows = False
        elif argument.startswith("-p") and not plugins and not _PORT.fullmatch(argument[2:]):
            found.append(f"-p{MASK}" if argument[2:] else argument)
            secret_follows = argument == "-p"
        elif before in _USER and sign == ":":
            found.append(f"{name}:{MASK}")
        else:
            found.append(_masked_within(argument))
            names_secret = is_secret and (sign == ":" or (not sign and argument.startswith("-")))
            secret_follows = names_secret or _SCHEME.fullmatch(argument) is not None
        before, plugins = argument, plugins or "pytest" in argument
    return found


def _parts(argument: str) -> tuple[str, str, str]:
    """Return an argument's name, the first = or : in it, and what follows."""
    sign = next((each for each in argument if each in "=:"), "")
    name, _, value = argument.partition(sign) if sign else (argument, "", "")
    return name, sign, value


def _masked_within(argument: str) -> str:
    """Return an argument with the secrets inside of its text masked."""
    plain = _IN_URL.sub(rf"\1:{MASK}@", argument)
    plain = _BEARER.sub(rf"\1{MASK}", plain)
    plain = _WITHIN.sub(rf"\g<name>{MASK}", plain)
    return _TOKEN.sub(MASK, plain)

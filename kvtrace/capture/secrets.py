"""Arguments of a command line that look like secrets, masked before they are recorded."""

import re
from collections.abc import Sequence
from typing import Final

MASK: Final = "***"

#: Endings of the names of secrets; short words only after a separator.
_WORDS: Final = (
    r"(?:token|secret|password|passwd|passphrase|credentials?|authorization|cookie|"
    r"(?:^|[-_.])(?:pass|pwd|pw|auth|auth[-_]?header|bearer)|^-{1,2}key|"
    r"(?:api|access|account|private|auth|secret|signing|encryption|license|storage|wandb)[-_]?key)"
)
#: Names of options and variables whose values are secrets.
_NAME: Final = re.compile(rf"{_WORDS}$", re.IGNORECASE)
#: The same inside of an argument: {"token": "x"}, host=h password=x, ?api_key=x&n=1.
_WITHIN: Final = re.compile(
    rf"(?P<name>(?:^|[\s\"'{{,;?&])[\w.-]*?{_WORDS}[\"']?\s*[=:]\s*[\"']?)(?!//)[^\s\"',;&}}]+",
    re.IGNORECASE,
)
#: A header's value: the word after Bearer and a separator.
_BEARER: Final = re.compile(r"\b(Bearer[\s:=]\s*)\S+", re.IGNORECASE)
_SCHEME: Final = re.compile(r"(bearer|basic|digest):?", re.IGNORECASE)
#: Tokens with their issuers' prefixes, and JSON Web Tokens (RFC 7519).
_TOKEN: Final = re.compile(
    r"\b(hf_|sk-|sk_|pk_|rk_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|npm_|"
    r"pypi-|nvapi-)[A-Za-z0-9_\-.]{12,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
)
#: The password of a URL: scheme://user:password@host.
_IN_URL: Final = re.compile(r"(?<=://)([^/\s:@]*):([^/\s@]+)@")
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
    `--key X`, `--token=X`, `HF_TOKEN=X`, `{"password": "X"}`), forms and JSON after `--data`,
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
            is_port = previous == "-p" and _PORT.fullmatch(argument)
            masked_arguments.append(argument if is_port else MASK)
            secret_follows = False
        elif is_secret and value:
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
    text = _BEARER.sub(rf"\1{MASK}", text)
    text = _WITHIN.sub(rf"\g<name>{MASK}", text)
    return _TOKEN.sub(MASK, text)

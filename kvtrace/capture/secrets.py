"""Arguments of a command line that look like secrets, masked before they are recorded."""

import re
from collections.abc import Sequence
from typing import Final

MASK: Final = "***"

#: An option or variable whose value is a secret, by the words of its name.
_NAME: Final = re.compile(
    r"(^|[-_.])(token|secret|password|passwd|passphrase|pwd|credentials?|authorization|"
    r"api[-_]?key|access[-_]?key|private[-_]?key|auth[-_]?key|wandb[-_]?key)$",
    re.IGNORECASE,
)
#: Tokens that their issuers mark by how they begin, and JSON Web Tokens (RFC 7519).
_TOKEN: Final = re.compile(
    r"\b(hf_|sk-|sk_|pk_|rk_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|npm_|"
    r"pypi-|nvapi-)[A-Za-z0-9_\-.]{12,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
)
#: The password of a URL: scheme://user:password@host.
_IN_URL: Final = re.compile(r"(?<=://)([^/\s:@]*):([^/\s@]+)@")


def masked(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with what looks like a secret replaced by three stars.

    These are the values of options and variables whose names say so (`--api-key X`, `--token=X`,
    `HF_TOKEN=X`), tokens that begin as their issuers' do, and passwords in URLs. A secret that
    looks like anything else is not known to be one.
    """
    found, secret_follows = [], False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if secret_follows and not argument.startswith("--"):
            found.append(MASK)
            secret_follows = False
            continue
        is_secret = _NAME.search(name) is not None
        secret_follows = is_secret and not equals and argument.startswith("-")
        if is_secret and equals:
            found.append(f"{name}={MASK if value else ''}")
            continue
        plain = _IN_URL.sub(rf"\1:{MASK}@", argument)
        found.append(_TOKEN.sub(MASK, plain))
    return found

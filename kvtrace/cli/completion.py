"""Completion of commands and options by shells: `kvtrace --install-completion`."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kvtrace.cli import (
    ASKING,
    command_line,
    complain,
    own_commands,
)
from kvtrace.schema.errors import BadSetting, KvtraceError

#: The shells' scripts, which read one candidate per line. The shells complete files themselves.
_SCRIPTS: Final = {
    "bash": f"""\
_kvtrace() {{
  local IFS=$'\\n'
  COMPREPLY=($({ASKING}="${{COMP_WORDS[COMP_CWORD]}}" kvtrace "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"))
}}
complete -o default -F _kvtrace kvtrace
""",
    "zsh": f"""\
#compdef kvtrace
_kvtrace() {{
  local -a found
  found=("${{(@f)$({ASKING}="${{words[CURRENT]}}" kvtrace "${{(@)words[2,CURRENT-1]}}")}}")
  [[ -n "$found" ]] && compadd -- $found || _files
}}
compdef _kvtrace kvtrace
""",
    "fish": f"""\
function __kvtrace
  set -lx {ASKING} (commandline -ct)
  set -l words (commandline -opc)
  kvtrace $words[2..-1]
end
complete -c kvtrace -a '(__kvtrace)'
""",
}
#: Paths of the scripts below the home folder, where shells read them.
_SCRIPT_PATHS: Final = {
    "bash": ".local/share/bash-completion/completions/kvtrace",
    "zsh": ".zfunc/_kvtrace",
    "fish": ".config/fish/completions/kvtrace.fish",
}
#: What `kvtrace --install-completion --help` prints.
HELP: Final = """\
Usage: kvtrace --install-completion [SHELL]
       kvtrace --show-completion [SHELL]

Install, or print, the script that completes commands and options in bash, zsh
or fish; without SHELL that of $SHELL."""
_ZSH: Final = "fpath+=~/.zfunc; autoload -Uz compinit; compinit"


def script(environment: Mapping[str, str], named: Sequence[str]) -> tuple[str, str]:
    """Return a shell's name and its completion script: the shell `named[0]`, or that of $SHELL.

    Raises:
        BadSetting: The shell has no script.

    """
    shell = Path(named[0] if named else environment.get("SHELL", "")).name
    if shell not in _SCRIPTS:
        raise BadSetting(
            f"completion supports {', '.join(_SCRIPTS)}, not {shell!r}; name one of them"
        )
    return shell, _SCRIPTS[shell]


def install(environment: Mapping[str, str], named: Sequence[str]) -> str:
    """Write the completion script of the shell `named[0]` or $SHELL; return where, as a message.

    Raises:
        BadSetting: The shell has no script.
        OSError: The script cannot be written.

    """
    shell, text = script(environment, named)
    path = Path.home() / _SCRIPT_PATHS[shell]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if shell == "zsh":
        settings = Path.home() / ".zshrc"
        zshrc = settings.read_text(encoding="utf-8") if settings.exists() else ""
        if _ZSH not in zshrc:
            with settings.open("a", encoding="utf-8") as file:
                file.write(f"\n{_ZSH}\n")
    return f"wrote {shlex.quote(os.fspath(path))}; it works in new shells"


def completed(option: str, *shell: str) -> int:
    """Print or install the shell's completion script, and return the exit code."""
    try:
        text = script(os.environ, shell)[1] if "show" in option else install(os.environ, shell)
    except KvtraceError as problem:
        return complain(str(problem))
    except OSError as problem:
        return complain(f"the completion script cannot be written: {problem}.")
    print(text)
    return 0


def candidates(words: Sequence[str], begun: str) -> list[str]:
    """Return the commands or options that may follow `words` and begin with `begun`."""
    of_two_words = " ".join(words[:2])
    name = of_two_words if of_two_words in own_commands() else " ".join(words[:1])
    if not words:
        listed = (command for command, entry in own_commands().items() if entry.group)
        matching = dict.fromkeys(command.split()[0] for command in listed)
    elif len(words) == 1 and not begun.startswith("-"):
        listed = (command for command in own_commands() if command.startswith(f"{name} "))
        matching = dict.fromkeys(command.split()[1] for command in listed)
    elif begun.startswith("-") and name in own_commands():
        options = command_line(name).options
        matching = dict.fromkeys(flag for o in options for flag in (*o.on, *o.off, "--help"))
    else:
        return []
    return [candidate for candidate in matching if candidate.startswith(begun)]

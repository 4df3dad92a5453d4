"""A separate checkout for commits of a repository: the user's own is not touched."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kvtrace.schema.errors import BadSetting

#: Hooks of the user's are for the user's checkout.
_QUIETLY: Final = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")
#: What git tells the programs that it starts, and other programs must not get.
_OF_GIT: Final = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Worktree:
    """A checkout of a repository; `inside` is where in it the user's working directory is."""

    path: Path
    inside: Path

    @property
    def folder(self) -> Path:
        """Where programs are run: the folder in it that the user works in."""
        return self.path / self.inside

    def git(self, *arguments: str) -> str:
        """Run git in it and return what it prints; BadSetting with git's words if it fails."""
        return git(self.path, *arguments)

    def check_out(self, commit: str) -> None:
        """Check a commit out, whatever programs have changed in tracked files."""
        self.git("checkout", "--quiet", "--force", "--detach", commit)

    def head(self) -> str:
        """The commit that is checked out."""
        return self.git("rev-parse", "HEAD")


@contextmanager
def worktree(repository: Path, commit: str) -> Iterator[Worktree]:
    """Make a checkout of a commit, gone when the block ends, however it does.

    Raises:
        BadSetting: there is no repository, no such commit, or git cannot make it.

    """
    inside = Path(git(repository, "rev-parse", "--show-prefix"))
    parent = Path(tempfile.mkdtemp(prefix="kvtrace-bisect-"))
    path = parent / "checkout"
    try:
        git(repository, "worktree", "add", "--quiet", "--detach", str(path), commit)
        yield Worktree(path.resolve(), inside)
    finally:
        shutil.rmtree(parent, ignore_errors=True)
        git(repository, "worktree", "prune", "--expire", "now")


def commit_named(repository: Path, name: str) -> str:
    """Return the full hash of the commit that a name means; BadSetting if there is none."""
    try:
        return git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except BadSetting:
        git(repository, "rev-parse", "--git-dir")
        raise BadSetting(f"there is no commit {name!r} in this repository.") from None


def git(folder: Path, *arguments: str) -> str:
    """Run git and return what it prints, without the last line's end.

    Raises:
        BadSetting: it is not there, or it fails; its complaint is in the text.

    """
    try:
        done = subprocess.run(
            git_command(*arguments),
            cwd=folder,
            env=outside_git(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BadSetting(f"git cannot be run ({error.strerror or error}); install it.") from error
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise BadSetting(f"git {arguments[0]} failed in {folder}: {said}")
    return done.stdout.rstrip("\n")


def git_command(*arguments: str) -> list[str]:
    """Return the command that runs git without hooks."""
    return ["git", *_QUIETLY, *arguments]


def outside_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what git tells those that it starts."""
    return {name: value for name, value in environment.items() if name not in _OF_GIT}

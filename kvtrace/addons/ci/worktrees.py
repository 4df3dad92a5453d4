"""Separate checkouts of a repository's commits, which leave the user's checkout unchanged."""

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

#: Options of git: the user's hooks must not run in the separate checkout.
_QUIETLY: Final = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")
#: Variables that git sets for the programs that it starts, and other programs must not get.
_OF_GIT: Final = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Worktree:
    """A checkout at `path`; `inside` is the user's working directory within the repository."""

    path: Path
    inside: Path

    @property
    def folder(self) -> Path:
        """The checkout's counterpart of the user's working directory, where programs run."""
        return self.path / self.inside

    def git(self, *arguments: str) -> str:
        """Run git in the checkout and return its output; raise BadSetting with git's error."""
        return git(self.path, *arguments)

    def check_out(self, commit: str) -> None:
        """Check out a commit, discarding changes that programs made to tracked files."""
        self.git("checkout", "--quiet", "--force", "--detach", commit)

    def head(self) -> str:
        """Return the hash of the commit that is checked out."""
        return self.git("rev-parse", "HEAD")


@contextmanager
def worktree(repository: Path, commit: str) -> Iterator[Worktree]:
    """Make a separate checkout of a commit and yield it; delete it when the block ends.

    Raises:
        BadSetting: the repository or the commit does not exist, or git cannot make the checkout.
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
    """Return the hash of the commit that `name` means; raise BadSetting if there is none."""
    try:
        return git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except BadSetting:
        git(repository, "rev-parse", "--git-dir")
        raise BadSetting(f"there is no commit {name!r} in this repository.") from None


def git(folder: Path, *arguments: str) -> str:
    """Run git and return its output without the last newline.

    Raises:
        BadSetting: git is not installed, or fails; git's error is in the text.
    """
    try:
        result = subprocess.run(
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
    if result.returncode:
        errors = " ".join(result.stderr.split()) or f"exit code {result.returncode}"
        raise BadSetting(f"git {arguments[0]} failed in {folder}: {errors}")
    return result.stdout.rstrip("\n")


def git_command(*arguments: str) -> list[str]:
    """Return git's command with arguments, and options that disable hooks."""
    return ["git", *_QUIETLY, *arguments]


def outside_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that git sets for programs that it starts."""
    return {name: value for name, value in environment.items() if name not in _OF_GIT}

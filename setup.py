"""Build steps that pyproject.toml cannot say: C extensions, pure wheels, equal bytes, kvtrace.pth.

Where there is no compiler, on systems other than Linux, for Pythons without the interpreter's lock,
and with KVTRACE_PURE_WHEEL=1, a wheel has no C extension and fits every platform: traces are read,
replayed and reported with it.

The page of a package index has no folder: where the repository is known, README.md's links and
pictures are made absolute, of the release's tag.

Two builds of one release are equal byte by byte: files are dated by CHANGELOG.md's newest release
(SOURCE_DATE_EPOCH says otherwise), archives name no user, and no object file names its folder.
"""

import gzip
import os
import re
import sys
import sysconfig
import tarfile
import zipfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from runpy import run_path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.editable_wheel import editable_wheel
from setuptools.command.sdist import sdist

#: The C relies on the interpreter's lock, and on the stable ABI, which such a Python lacks.
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
PURE = sys.platform != "linux" or FREE_THREADED or os.environ.get("KVTRACE_PURE_WHEEL") == "1"
RELEASES = Path("CHANGELOG.md").read_text(encoding="utf-8")
DATED = re.search(r"^## [\d.]+ \((\d{4}-\d\d-\d\d)\)$", RELEASES, re.MULTILINE)
if DATED:
    released = datetime.fromisoformat(DATED[1]).replace(tzinfo=UTC)
    os.environ.setdefault("SOURCE_DATE_EPOCH", str(int(released.timestamp())))
os.umask(0o022)  # what is written has the same mode for everyone


class EditableWheel(editable_wheel):
    """Adds kvtrace.pth to an editable install; a plain wheel gets it as package data."""

    def run(self) -> None:
        """Build the editable wheel, then put the autostart line into it."""
        super().run()
        for wheel in Path(self.dist_dir).glob("*editable*.whl"):
            with zipfile.ZipFile(wheel, "a") as archive:
                archive.write("kvtrace.pth", "kvtrace.pth")


class Wheel(bdist_wheel):
    """Is of every platform where no C extension was built."""

    def run(self) -> None:
        """Build, then name the wheel by what was built."""
        self.run_command("build")
        if self.distribution.has_ext_modules():
            built = self.get_finalized_command("build_ext").get_outputs()
            if not any(Path(path).exists() for path in built):
                self.root_is_pure, self.distribution.ext_modules = True, []
        super().run()


class Sdist(sdist):
    """An archive that depends on the names and contents of its files alone."""

    def make_archive(self, base_name: str, _format: str, base_dir: str, **_owner: object) -> str:
        """Pack `base_dir` in the order of names, of no user and at no time of its own."""
        dated = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
        packed = BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted(each for each in Path(base_dir).rglob("*") if each.is_file()):
                entry = tarfile.TarInfo(path.as_posix())
                entry.size, entry.mtime, entry.mode = path.stat().st_size, dated, 0o644
                with path.open("rb") as file:
                    archive.addfile(entry, file)
        written = Path(f"{base_name}.tar.gz")
        written.write_bytes(gzip.compress(packed.getvalue(), mtime=dated))
        return str(written)


def home() -> str:
    """Return the address of the repository that builds, as CI says it; "" elsewhere."""
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
    return f"{server}/{repository}" if repository else ""


def readme(repository: str) -> str:
    """Return README.md, its links and pictures absolute if the repository's address is known."""
    text = Path("README.md").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', Path("kvtrace/version.py").read_text(), re.M)
    if not repository or version is None:
        return text

    def absolute(link: re.Match[str]) -> str:
        view = "raw" if link["path"].endswith((".png", ".svg")) else "blob"
        return f"{link['before']}{repository}/{view}/v{version[1]}/{link['path']}"

    relative = r'(?P<before>\]\(|src(?:set)?=")(?P<path>(?![a-z]+:|#)[^)"\s]+)'
    return re.sub(relative, absolute, text)


def project_urls(repository: str) -> dict[str, str]:
    """Return the links of the package's page; none if the repository's address is unknown."""
    pages = {"Documentation": "tree/main/docs", "Changelog": "blob/main/CHANGELOG.md"}
    pages |= {"Source": "", "Issues": "issues"}
    return {name: f"{repository}/{page}" for name, page in pages.items()} if repository else {}


def launch_fields() -> tuple[str, str]:
    """Return the macro that has the fields of a launch, each by its width, for `_hot_state.h`."""
    kinds = {"q": "wide", "i": "narrow"}
    fields = run_path("kvtrace/schema/spool.py")["FIELDS"]
    listed = " ".join(f"{kinds[kind]}({name})" for name, kind in fields.items())
    return "LAUNCH_FIELDS(wide, narrow)", listed


def extension(
    name: str,
    file: str,
    *depends: str,
    flags: tuple[str, ...] = (),
    macros: tuple[tuple[str, str], ...] = (),
) -> Extension:
    """One for every Python from 3.11 on; kvtrace works without it, and says what it then lacks."""
    return Extension(
        name,
        [file],
        depends=list(depends),
        define_macros=[("Py_LIMITED_API", "0x030B0000"), *macros],
        extra_compile_args=[f"-ffile-prefix-map={Path.cwd()}=.", *flags],
        py_limited_api=True,
        optional=True,
    )


def headers(folder: str) -> list[str]:
    """Return the headers in a folder."""
    return sorted(map(str, Path(folder).glob("*.h")))


NATIVE = [
    extension(
        "kvtrace.capture._hot",
        "kvtrace/capture/_hot.c",
        *headers("kvtrace/capture"),
        "kvtrace/schema/spool.py",
        macros=(launch_fields(),),
        # Fewer cache lines a launch: calls into Python go by their address, not through a stub.
        # Loops are aligned, or a line elsewhere makes a launch with ten tensors 5 % slower.
        flags=("-fno-plt", "-falign-loops=32"),
    ),
    *(
        extension(
            ".".join(file.with_suffix("").parts),
            str(file),
            *headers(str(file.parent)),
            *headers("kvtrace/backends/cupti"),
            "kvtrace/capture/_layouts.h",
        )
        for folder in ("kvtrace/backends/cupti", "kvtrace/addons")
        for file in sorted(Path(folder).rglob("_*.c"))
    ),
]

setup(
    long_description=readme(home()),
    long_description_content_type="text/markdown",
    project_urls=project_urls(home()),
    cmdclass={"bdist_wheel": Wheel, "editable_wheel": EditableWheel, "sdist": Sdist},
    ext_modules=[] if PURE else NATIVE,
    options={} if PURE else {"bdist_wheel": {"py_limited_api": "cp311"}},
)

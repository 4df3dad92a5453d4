"""The wheels and the sdist of a release: what they are for, and that two builds are equal."""

import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.packaging.conftest import build, make_resolved
from tests.support.thorough import THOROUGH
from tests.support.tree import ROOT

#: A day on which nobody built kvtrace.
ANOTHER_TIME = 1_000_000_000


@pytest.fixture(scope="module")
def unpacked(built, tmp_path_factory):
    """What is in the sdist, in a folder of its own, and nothing of git."""
    (sdist,) = built.glob("*.tar.gz")
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def pure_wheel(unpacked, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pure")
    build(unpacked, folder, "--wheel", KVTRACE_PURE_WHEEL="1")
    (path,) = folder.iterdir()
    return path


@pytest.mark.process
@pytest.mark.night("builds twice; the wheel of one build is looked through in test_install.py")
def test_two_wheel_builds_are_equal_byte_by_byte(built, source_tree, tmp_path):
    # given the same files elsewhere, of another time, for a user with another mask
    copy = shutil.copytree(
        source_tree, tmp_path / "a longer name" / "kvtrace of another user", symlinks=True
    )
    for path in copy.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (ANOTHER_TIME, ANOTHER_TIME))
            path.chmod(0o700)
    before = os.umask(0o077)
    try:
        build(copy, tmp_path / "dist", TZ="Pacific/Auckland", USER="another")
    finally:
        os.umask(before)
    # then the archives are those of the first build
    names = sorted(path.name for path in built.iterdir())
    assert sorted(path.name for path in (tmp_path / "dist").iterdir()) == names
    assert len(names) == 2
    for name in names:
        assert (tmp_path / "dist" / name).read_bytes() == (built / name).read_bytes(), name


@pytest.mark.process
def test_sdist_builds_a_pure_wheel_without_compiler(unpacked, pure_wheel, tmp_path):
    assert not (unpacked / ".git").exists()
    assert pure_wheel.name.endswith("-py3-none-any.whl")
    build(unpacked, tmp_path, "--wheel", CC="false")
    (path,) = tmp_path.iterdir()
    assert path.name == pure_wheel.name
    assert path.read_bytes() == pure_wheel.read_bytes()


@pytest.mark.process
def test_pure_wheel_differs_only_by_missing_extensions(wheel, pure_wheel):
    def files(path):
        with zipfile.ZipFile(path) as archive:
            return {
                each.filename: each.CRC
                for each in archive.infolist()
                if Path(each.filename).name not in {"WHEEL", "RECORD"}
            }

    native, pure = files(wheel), files(pure_wheel)
    extensions = native.keys() - pure.keys()
    assert {name.split(".")[0] for name in extensions} == {
        "kvtrace/addons/memory/recording/_operators",
        "kvtrace/capture/_hot",
        "kvtrace/backends/cupti/_buffers",
        "kvtrace/backends/cupti/_requests",
    }
    assert {name: native[name] for name in pure} == pure


@pytest.mark.skipif(not THOROUGH, reason="the newcomer's way tries the native one each time")
@pytest.mark.parametrize("kind", ["pure", "native"])
def test_wheel_works_with_only_its_declared_dependencies(kind, request, tmp_path):
    wheel = request.getfixturevalue("wheel" if kind == "native" else "pure_wheel")
    environment = make_resolved(tmp_path / "environment", wheel)
    check = ROOT / "tests" / "packaging" / "check_wheel.py"
    done = environment.run(environment.python, check, kind, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr

"""What reaches the disk, and when."""

from pathlib import Path

import pytest

from kvtrace.schema import layout
from kvtrace.schema.layout import (
    aside_path,
    names_reach_disk_together,
    segment_path,
    segments_aside,
    set_aside,
    write_whole,
)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Inodes of all that was brought to disk, in order."""
    found: list[int] = []
    monkeypatch.setattr(
        layout.os, "fsync", lambda handle: found.append(layout.os.fstat(handle).st_ino)
    )
    return found


def test_segment_that_is_set_aside_is_listed_and_keeps_its_bytes(tmp_path: Path) -> None:
    segment = segment_path(tmp_path, "run", "launches", 0)
    segment.parent.mkdir(parents=True)
    segment.write_bytes(b"damaged")

    set_aside(segment, aside_path(tmp_path, "run", segment))

    (aside,) = segments_aside(tmp_path)
    assert aside.read_bytes() == b"damaged"
    assert not segment.exists()


def test_deferred_syncs_happen_once_per_folder_at_the_end(
    tmp_path: Path, synced: list[int]
) -> None:
    files = [tmp_path / table / "run" / "part" for table in "abc"]
    with names_reach_disk_together():
        for file in files:
            write_whole(file, lambda path: path.touch())
        assert synced == [file.stat().st_ino for file in files]  # their content, at once
        del synced[:]

    folders = {tmp_path, *(file.parent for file in files), *(file.parent.parent for file in files)}
    assert sorted(synced) == sorted(folder.stat().st_ino for folder in folders)


def test_folders_are_synced_at_once_after_the_deferral(tmp_path: Path, synced: list[int]) -> None:
    with pytest.raises(ValueError, match="as if"), names_reach_disk_together():
        raise ValueError("as if")

    write_whole(tmp_path / "file", lambda path: path.touch())

    assert synced == [(tmp_path / "file").stat().st_ino, tmp_path.stat().st_ino]

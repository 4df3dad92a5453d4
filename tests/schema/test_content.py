"""Ids that are made of content."""

import hashlib
import subprocess
import sys
from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.schema.content import artifact_content, artifact_row, stack_id, stack_row
from kvtrace.schema.errors import DamagedFile


@dataclass(frozen=True)
class Frame:
    file: str
    line: int
    column: int
    function: str


FRAMES = [("a.py", 3, 1, "f"), ("b.py", 9, None, "<module>")]


def test_stack_id_is_the_same_for_frames_tuples_and_mappings():
    rows = stack_row(FRAMES)["frames"]

    assert stack_id(FRAMES) == stack_id(rows)
    assert stack_id([Frame("a.py", 3, 1, "f")]) == stack_id([("a.py", 3, 1, "f")])


@pytest.mark.process
def test_stack_id_of_known_frames_never_changes():
    code = f"from kvtrace.schema.trace import stack_id; print(stack_id({FRAMES!r}))"

    other = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert int(other.stdout) == stack_id(FRAMES) == 1040530435824206359


@given(st.lists(st.tuples(st.text(), st.integers() | st.none(), st.none(), st.text())))
def test_stack_ids_fit_in_63_bits_and_differ_by_stack(frames):
    assert 0 <= stack_id(frames) < 2**63
    assert stack_id(frames) != stack_id([*frames, ("", None, None, "")])


@given(st.binary(max_size=2000))
def test_artifact_content_survives_compression(content):
    row = artifact_row("ptx", content)

    assert artifact_content(row["sha256"], row["size_bytes"], row["bytes"], "here") == content


@pytest.mark.parametrize("damage", [lambda b: b[:-3], lambda b: b"no zstd", lambda b: b""])
def test_artifact_with_damaged_bytes_is_refused(damage):
    row = artifact_row("ptx", b"ret;" * 100)

    with pytest.raises(DamagedFile, match=row["sha256"][:12]):
        artifact_content(row["sha256"], row["size_bytes"], damage(row["bytes"]), "here")


def test_an_artifact_with_other_content_is_refused():
    row, other = artifact_row("ptx", b"one"), artifact_row("ptx", b"two")

    with pytest.raises(DamagedFile, match="does not match its hash"):
        artifact_content(row["sha256"], row["size_bytes"], other["bytes"], "here")


@pytest.mark.parametrize("says_its_size", [True, False])
@pytest.mark.parametrize("declared", [10, (1 << 20) - 1, (1 << 20) + 1, 1 << 40, -1])
def test_an_artifact_of_another_size_than_declared_is_refused(declared, says_its_size):
    content = bytes(1 << 20)
    compressed = pa.Codec("zstd").compress(content, asbytes=True)
    if not says_its_size:
        written = pa.BufferOutputStream()
        with pa.CompressedOutputStream(written, "zstd") as stream:
            stream.write(content)
        compressed = written.getvalue().to_pybytes()
    sha256 = hashlib.sha256(content).hexdigest()
    assert artifact_content(sha256, len(content), compressed, "here") == content
    with pytest.raises(DamagedFile):
        artifact_content(sha256, declared, compressed, "here")
    with pytest.raises(DamagedFile):
        artifact_content(hashlib.sha256(b"").hexdigest(), 0, compressed, "here")

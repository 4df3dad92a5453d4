"""What a converter writes appears whole, where the user said."""

import os
import threading

from kvtrace.converters.output import whole_file


def write(path, content=b"page"):
    with whole_file(path) as file:
        file.write(content)


def test_target_of_a_symbolic_link_is_replaced(tmp_path):
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_bytes(b"before")
    link.symlink_to(target)

    write(link)

    assert link.is_symlink()
    assert target.read_bytes() == b"page"
    assert sorted(tmp_path.iterdir()) == [link, target]


def test_named_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()

    write(pipe)

    reader.join(30)
    assert read == [b"page"]
    assert pipe.is_fifo()

"""What tests of the launch view share: its pages, and what they read off and press."""

import io
from importlib.util import find_spec

import numpy as np
import pytest

from tests.converters.launch_pages import (
    blocks_of,
    written_pages,
)

if find_spec("triton") is None:
    pytest.skip("Triton is not installed: nothing to launch", allow_module_level=True)
#: Bytes of an element of the tensors that the kernels go to.
SIZES = {"f32": 4, "bf16": 2, "f16": 2, "i64": 8}


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    return written_pages(tmp_path_factory.mktemp("launch-view"))


@pytest.fixture(scope="session")
def blocks(pages):
    return blocks_of(pages.page)


def memory_ops(call):
    """Ops of a call's block whose accesses are known, with their records."""
    for op in call["ops"]:
        accesses = [access for access in call["accesses"] if access["op"] == op["index"]]
        if accesses and all(each["layout"].get("runs", ()) is not None for each in accesses):
            yield op, accesses


def op_of(call, kind, buffer):
    return next(op for op in call["ops"] if (op["kind"], op["buffer"]) == (kind, buffer))


def figure(opened, name, section="#map-figures"):
    """A figure's plain number as the page has it."""
    text = opened.page.locator(f'{section} [data-figure="{name}"]').get_attribute("data-value")
    return None if text == "" else float(text)


def show(opened, address, *choices):
    """Go to an address, and wait for the op's map to be there."""
    opened.go(address + ("?" if choices else "") + "&".join(choices))
    opened.page.wait_for_selector("#map-figures")


def cell_position(opened, row, column):
    """The middle of a cell of the access map, in its canvas."""
    across, down = (
        float(opened.page.locator("#access-map").get_attribute(f"data-{name}"))
        for name in ("across", "down")
    )
    return {"x": (column + 0.5) * across, "y": (row + 0.5) * down}


def cell_color(opened, row, column):
    """The color that a cell of the access map is drawn in, as CSS says it."""
    return opened.page.locator("#access-map canvas").evaluate(
        """(canvas, { x, y }) => {
            const ratio = devicePixelRatio;
            const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
            copy.drawImage(canvas, -Math.floor(x * ratio), -Math.floor(y * ratio));
            const { data } = copy.getImageData(0, 0, 1, 1);
            return `rgb(${data[0]}, ${data[1]}, ${data[2]})`;
        }""",
        cell_position(opened, row, column),
    )


def rows_of(opened, table):
    return opened.page.locator(f"{table} tbody tr[data-place]").all_inner_texts()


def legend_color(opened, name):
    return opened.page.locator(f"#access-legend [data-key={name}]").evaluate(
        "key => getComputedStyle(key).backgroundColor"
    )


def saved(opened, button):
    """What a button saves, as a NumPy array."""
    with opened.page.expect_download() as waiting:
        opened.page.locator(button).click()
    return np.load(io.BytesIO(waiting.value.path().read_bytes()))


def pressed(opened, selector, *keys):
    opened.page.locator(selector).focus()
    for key in keys:
        opened.page.keyboard.press(key)


def address_has(opened, *parts):
    """Wait until the address says all that: choices reach it a moment later."""
    opened.page.wait_for_function(
        "parts => parts.every((part) => decodeURIComponent(location.hash).includes(part))",
        arg=list(parts),
    )

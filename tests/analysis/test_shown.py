"""Printed results have no control characters, and a page in a notebook stays in its frame."""

from html.parser import HTMLParser

import pytest

import kvtrace
from kvtrace.schema.errors import BadSetting
from tests.converters.written_trace import Kernel, Launches, write_trace

HOSTILE = "<img src=x onerror=alert(1)>\"'&</pre></style><script>alert(2)</script>\x1b[31m"


class Read(HTMLParser):
    """Gathers tags and attributes of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A trace whose texts all look like markup."""
    top = tmp_path_factory.mktemp("hostile")
    for folder, warps in (("old", 4), ("new", 8)):
        kernel = Kernel(
            name=HOSTILE, module=HOSTILE, source=f"def f(): {HOSTILE}\n", num_warps=warps,
            options=((HOSTILE, HOSTILE),), calls=(Launches(number=2, device_us=5),),
        )  # fmt: skip
        write_trace(top / folder, [kernel], command=HOSTILE, host=HOSTILE)
    return kvtrace.open(top / "old")


@pytest.mark.costly("every result; single results stay by day")
@pytest.mark.parametrize(
    "shown",
    [
        lambda trace: trace.kernels,
        lambda trace: trace.kernels[0],
        lambda trace: trace.sql('SELECT name AS "<b>name", options FROM kernels'),
        lambda trace: trace.info(),
        lambda trace: trace.info()[0],
        lambda trace: trace.profile(),
        lambda trace: trace.profile()[0],
        lambda trace: kvtrace.diff(trace, trace.path.parent / "new", replay=False),
        lambda trace: kvtrace.diff(trace, trace.path.parent / "new", replay=False)[0],
    ],
)
def test_printed_text_of_a_trace_has_no_control_characters(hostile, shown):
    text = repr(shown(hostile))

    assert "<img src=x" in text
    assert "\x1b" not in text


def test_a_page_cannot_leave_its_frame(hostile):
    page = hostile.page(HOSTILE, replay=False)

    read = Read(page._repr_html_())
    assert read.tags == {"iframe"}
    assert read.attributes == {"title", "sandbox", "style", "srcdoc"}
    assert 'sandbox="allow-scripts allow-downloads"' in page._repr_html_()
    assert "\x1b" not in repr(page)
    assert '<html data-start="/kernel/0" lang="en">' in page.html


def test_an_address_is_escaped_in_html(hostile):
    page = hostile.page(address='findings"><script>', replay=False)
    assert '<html data-start="/findings&quot;&gt;&lt;script&gt;" lang="en">' in page.html


def test_an_unknown_kernel_is_refused_with_the_nearest_name(copied):
    trace = kvtrace.open(copied("device"))
    name = trace.kernels[0]["name"]

    with pytest.raises(BadSetting, match=f"the report has no kernel .* mean '{name}'"):
        trace.page(f"{name}s", replay=False)


def test_page_above_the_size_limit_is_refused_with_the_needed_size(copied):
    with pytest.raises(BadSetting, match=r"needs at least .* MiB"):
        kvtrace.open(copied("device")).page(max_mb=0.3, replay=False)


def test_entries_have_the_fields_of_their_data(program):
    trace = kvtrace.open(program)
    defect = trace.sanitize()[0]

    assert (defect.rule, defect) == ("out-of-bounds", trace.sanitize().data.listed[0])
    assert "error[out-of-bounds]" in repr(defect)
    assert repr(defect) in repr(trace.sanitize())
    assert [entry.name for entry in trace.profile()[:]] == ["double"]
    with pytest.raises(AttributeError):
        _ = defect.nothing_of_that_name
    with pytest.raises(IndexError):
        trace.profile()[5]


def test_rows_can_be_indexed_and_sliced(copied):
    launches = kvtrace.open(copied("device")).launches

    assert launches[-1]["seq"] == launches.arrow["seq"][-1].as_py()
    assert [row["seq"] for row in launches[2:4]] == launches.arrow["seq"].to_pylist()[2:4]
    assert repr(launches[0]).startswith("a row of launches\n  seq")
    with pytest.raises(IndexError):
        launches[len(launches)]

"""What notebooks show has heads, units and sources, and a trace's text is never markup."""

from html.parser import HTMLParser

import pytest

import kvtrace
from kvtrace.analysis.shown.outputs import finding_html, findings_html
from kvtrace.converters.findings import Finding, Findings
from kvtrace.schema.errors import BadSetting
from tests.converters.written_trace import Kernel, Launches, write_trace

HOSTILE = "<img src=x onerror=alert(1)>\"'&</pre></style><script>alert(2)</script>\x1b[31m"
TAGS = {
    "div", "style", "table", "caption", "small", "thead", "tbody", "tr", "th", "td", "code", "pre",
    "p", "span", "details", "summary",
}  # fmt: skip
ATTRIBUTES = {"class", "colspan", "scope", "title"}


class Read(HTMLParser):
    """Gathers tags, attributes and text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.said = set(), set(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data):
        self.said.append(data)


def assert_only_text(page):
    read = Read(page)
    assert read.tags <= TAGS
    assert read.attributes <= ATTRIBUTES
    assert "\x1b" not in page
    return "".join(read.said)


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


@pytest.mark.parametrize(
    "shown",
    [
        lambda trace: trace,
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
def test_text_of_a_trace_is_escaped_in_html(hostile, shown):
    html = shown(hostile)

    assert "<img src=x onerror" in assert_only_text(html._repr_html_())
    assert "\x1b" not in repr(html)


def test_text_of_a_finding_is_escaped_in_html():
    finding = Finding(
        "f0", "out-of-bounds", "violation", "error", HOSTILE, f"{HOSTILE}.py", 3, 5,
        arg=HOSTILE, expression=HOSTILE, message=HOSTILE, hint=HOSTILE, invocation=HOSTILE,
        run="r",
    )  # fmt: skip
    findings = Findings((finding,), lines={(f"{HOSTILE}.py", 3): f"    x = {HOSTILE}"})

    for page in (findings_html(findings), finding_html(findings, finding)):
        assert "<img src=x onerror" in assert_only_text(page)


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


def test_tables_show_units_and_sources_of_figures(copied):
    trace = kvtrace.open(copied("device"))
    trace.replay()

    profile = trace.profile()._repr_html_()
    assert '<th colspan="5" scope="colgroup">measured</th>' in profile
    assert '<th colspan="7" scope="colgroup">derived</th>' in profile
    assert '<th scope="col" class="number" title="read and written, each counted once">' in profile
    assert "distinct bytes<small>a launch</small>" in profile
    assert "as kvtrace profile --full prints it" in profile

    launches = trace.launches._repr_html_()
    assert "measured while recording" in launches
    assert "derived from the trace" in trace.table("ops")._repr_html_()


def test_a_finding_has_its_source_caret_witness_and_hint(program):
    findings = kvtrace.open(program).sanitize()
    page = findings[0]._repr_html_()

    assert '<span class="error">error[out-of-bounds]</span>' in page
    assert "value = tl.load(source + index)  # the defect" in page
    assert '<span class="caret">' in page
    for head in ("witness", "launch", "hint"):
        assert f'<th scope="row">{head}</th>' in page
    assert page.count("<pre>") == 1
    body = page.partition("</style>")[2].removesuffix("</div>")
    assert body in findings._repr_html_()


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

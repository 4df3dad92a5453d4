"""Demo of the site: report and timeline of a recorded program, made whenever the site is built."""

import os
import shutil
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

from docs_site.repository import ROOT
from kvtrace.cli import main

#: Llama of transformers with Liger's kernels and torch.compile on an H200.
TRACE: Final = ROOT / "tests/fixtures/h200/llama_steady"
REPORT: Final = "demo/llama.html"
TIMELINE: Final = "demo/llama.perfetto-trace"
#: Where pages of the repository have this, those of the site have links to the demo.
PLACE: Final = "<!-- demo -->"

#: Perfetto's UI opens what an address answers if the answer allows its origin, as all of GitHub
#: Pages do (`Access-Control-Allow-Origin: *`); it takes https alone:
#: https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui
_LINKS: Final = """\
<p class="demo">
<a class="md-button md-button--primary" href="{report}">Open the report</a>
<a class="md-button" id="demo-timeline" href="{timeline}">Open its timeline in Perfetto</a>
</p>
<p>Llama (transformers, Liger, torch.compile) on an H200: 45 training steps, recorded unchanged.</p>
<script>
const timeline = document.getElementById("demo-timeline");
if (location.protocol === "https:")
  timeline.href = "https://ui.perfetto.dev/#!/?url=" + timeline.href;
else timeline.textContent = "Download its timeline, for ui.perfetto.dev";
</script>
"""


def demo_files() -> dict[str, bytes]:
    """Return the contents of the demo's files by path in the site.

    The trace is copied to a temporary folder first, so that outputs show a short path.
    """
    with tempfile.TemporaryDirectory(prefix="kvtrace-demo-") as folder:
        shutil.copytree(TRACE, Path(folder, TRACE.name))
        with chdir(folder), Path(os.devnull).open("w") as devnull:
            with redirect_stdout(devnull), redirect_stderr(devnull):
                _run_command("report", TRACE.name, "--no-replay", "-o", "report.html")
                _run_command("convert", "perfetto", TRACE.name, "-o", "timeline")
            paths = {REPORT: Path("report.html"), TIMELINE: Path("timeline")}
            return {site_path: path.read_bytes() for site_path, path in paths.items()}


def with_demo_links(markdown: str, up: str = "") -> str:
    """Return a page's Markdown in which links to the demo replace the comment `PLACE`.

    Args:
        markdown: The page's Markdown.
        up: Relative path from the page to the site's root, as "../".

    """
    return markdown.replace(PLACE, _LINKS.format(report=up + REPORT, timeline=up + TIMELINE))


def _run_command(*arguments: str) -> None:
    code = main(list(arguments))
    if code:
        raise RuntimeError(f"kvtrace {' '.join(arguments)} ended with {code}")

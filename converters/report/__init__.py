"""The HTML report: one self-contained page that makes no request.

`report_data` turns a trace's tables into plain data, which tests check, and `report_page` packs the
data into a page within a size budget. The page's own code is in `frontend/`, built into
`app.html` by `make frontend`; data that its views load later comes from the modules in `views/`.

May import `kvtrace.schema` and what converters share; the command `kvtrace report` imports it.

What the page needs at once is in the blocks `report`, `launches` and `device`; the rest (`call/7`,
`lines/3` …) is decoded when a view asks for it. `sources.py` lists the modules of `views/`, and
`pack.py` packs blocks as gzip and base64. The types of the page's data are written from dataclasses
here (`frontend/model_types.py`), and a test builds `app.html` again and compares the bytes. The
page's policy allows its own script and styles by hash and nothing else. A page that is no report
of a trace (`document.py`), as of a fleet, is the same application with one view.
"""

import shlex
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

from kvtrace.converters.chosen_kernels import called_kernels
from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.converters.report.data import report_data
from kvtrace.converters.report.model import Report
from kvtrace.converters.report.writing import ReportPage, report_page
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Selection
from kvtrace.text import plural

__all__ = ["CONVERTER", "Report", "ReportPage", "report_data", "report_of", "report_page"]


_PART_SETTINGS: Final = tuple(field.name for field in fields(RequestedPart))


class ReportConverter:
    """Converter to one self-contained HTML page.

    Settings: `max-mb`, the page's size limit in MiB; `source`, yes or no: include sources and IR;
    `since`, `until`, `mark`, `steps` and `whole`: the part that figures cover (`RequestedPart`);
    `kernels`: the names of the kernels to show, one a line; `here`, yes or no: places link to an
    editor if one of the kernels' files is there.
    """

    summary = "One self-contained HTML page: timeline, kernels, launches, source, findings"
    default_output = "report.html"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the page to `output`, and return its path, counts and notes on omitted parts.

        Raises:
            BadSetting: an unknown setting, a budget that is too small or not a number, or a file
                that cannot be written.

        """
        reject_unknown_settings(
            "report", settings, ("max-mb", "source", "kernels", "here", *_PART_SETTINGS)
        )
        max_mb = _megabytes(settings.get("max-mb", "20"))
        source = _yes_or_no("source", settings.get("source", "yes"))
        part = {name: settings[name] for name in _PART_SETTINGS if name in settings}
        whole = part.pop("whole", None) is not None
        names = settings.get("kernels")
        chosen = None if names is None else frozenset(names.split("\n"))
        report = report_of(selection, RequestedPart(**part, whole=whole), chosen)
        here = _yes_or_no("here", settings.get("here", "no")) and any(
            Path(kernel.file or "").is_file() for kernel in report.kernels
        )
        page = report_page(report, selection, max_mb, source=source, here=here)
        with whole_file(output) as file:
            file.write(page.html.encode())
        totals = report.totals
        counts = f"{plural(totals.launches, 'launch')}, {plural(totals.kernels, 'kernel')}"
        errors = sum(kernel.errors or 0 for kernel in report.kernels)
        counts += f", {plural(errors, 'error')}" if errors else ""
        omitted_parts = (f"{entry.text} {entry.command}" for entry in page.dropped)
        return Conversion((output,), (counts, *omitted_parts))


def report_of(
    selection: Selection, part: RequestedPart = STEADY, chosen: frozenset[str] | None = None
) -> Report:
    """Return the report of a selection's runs, titled by the trace's folder.

    Args:
        selection: the runs.
        part: the part of the runs that figures cover.
        chosen: the kernels to show; None: all.
    """
    folder = selection.trace.path
    title = folder.resolve().name or str(folder)
    if chosen is not None and not chosen.issuperset(called_kernels(selection)):
        title += f" ({plural(len(chosen), 'chosen kernel')})"
    shown_as = shlex.quote(f"{folder}/")
    return report_data(selection.trace, selection.runs, title, shown_as, part, chosen)


def _megabytes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise BadSetting(f"max-mb must be a size in MiB above 0, not {text!r}")
    return value


def _yes_or_no(name: str, text: str) -> bool:
    if text not in ("yes", "no"):
        raise BadSetting(f"{name} must be yes or no, not {text!r}")
    return text == "yes"


CONVERTER: Final = ReportConverter()

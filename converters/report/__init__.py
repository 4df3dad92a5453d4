"""The HTML report: one self-contained page that makes no request.

`report_data` turns a trace's tables into plain data, which tests check, and `write_report` writes
the data as a page within a size budget. The page's own code is in `frontend/`, built into
`app.html` by `make frontend`; data that its views load later comes from the modules in `views/`.

May import `kvtrace.schema` and what converters share; the command `kvtrace report` imports it.

What the page needs at once is in the blocks `report`, `launches` and `device`; the rest (`call/7`,
`lines/3` …) is decoded when a view asks for it. `sources.py` lists the modules of `views/`, and
`pack.py` packs blocks as gzip and base64. The types of the page's data are written from dataclasses
here (`frontend/model_types.py`), and a test builds `app.html` again and compares the bytes. The
page's policy allows its own script and styles by hash and nothing else. A page that is no report
of a trace (`document.py`), as of a fleet or a suite, is the same application with one view.
"""

from kvtrace.converters.report.converter import CONVERTER, report_of
from kvtrace.converters.report.data import report_data
from kvtrace.converters.report.model import Report
from kvtrace.converters.report.writing import WrittenPage, write_report

__all__ = ["CONVERTER", "Report", "WrittenPage", "report_data", "report_of", "write_report"]

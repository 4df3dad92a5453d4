"""Kernels over many runs: their times by job and commit, what became slower where, findings.

`read_fleet` builds plain data; `fleet_text`, `fleet_object` and `fleet_page` show it.
"""

from kvtrace.converters.fleet.model import Fleet, fleet_object
from kvtrace.converters.fleet.page import fleet_page
from kvtrace.converters.fleet.reading import read_fleet
from kvtrace.converters.fleet.text import fleet_text

__all__ = ["Fleet", "fleet_object", "fleet_page", "fleet_text", "read_fleet"]

"""Kernels over many runs: their times by job and commit, what became slower where, findings.

`read_fleet` builds plain data; `fleet_text`, `fleet_object` and `fleet_page` show it. For runs that
are many, `spark/` asks tables and evaluates calls on Spark (`--engine spark`); `stores.py` opens
traces in object stores (`s3://bucket/out`). docs/fleet.md says how they are used.
"""

from kvtrace.addons.fleet.model import Fleet, fleet_object
from kvtrace.addons.fleet.page import fleet_page
from kvtrace.addons.fleet.reading import read_fleet
from kvtrace.addons.fleet.text import fleet_text

__all__ = ["Fleet", "fleet_object", "fleet_page", "fleet_text", "read_fleet"]

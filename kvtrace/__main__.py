"""The command `kvtrace` as `python -m kvtrace`."""

import sys

from kvtrace.cli import main

sys.exit(main())

"""`python -m kvtrace` is the command `kvtrace`."""

import sys

from kvtrace.cli import main

sys.exit(main())

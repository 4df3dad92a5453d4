"""For all tests: no cache on disk of the user's, neither here nor in processes that tests start."""

import os

os.environ["KVTRACE_CACHE"] = "0"

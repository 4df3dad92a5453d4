"""Spark in tests: one session a module, in local mode, or the module skips itself."""

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.support.tiers import needs

MASTER = "local[2]"


def skip_without_spark() -> None:
    """Skip a module where Spark or Java is missing; fail it under KVTRACE_REQUIRE_SPARK=1."""
    if os.environ.get("KVTRACE_REQUIRE_SPARK") == "1":
        return
    for package in ("pyspark", "sqlglot"):  # not imported until a test runs: 20 MB a process
        if find_spec(package) is None:
            pytest.skip(f"needs {package}", allow_module_level=True)
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        pytest.skip("Spark needs Java", allow_module_level=True)


@pytest.fixture(scope="module", name="spark")
@needs("process")
def running_spark() -> Iterator[None]:
    """Let Spark run for the tests of a module, with no time spent on compiling Java well."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
        yield
        SparkSession.builder.getOrCreate().stop()

"""Build steps that pyproject.toml cannot say: the C extension, and kvtrace.pth when editable."""

import sys
import zipfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.editable_wheel import editable_wheel


class EditableWheel(editable_wheel):
    """Adds kvtrace.pth to an editable install; a plain wheel gets it as package data."""

    def run(self) -> None:
        """Build the editable wheel, then put the autostart line into it."""
        super().run()
        for wheel in Path(self.dist_dir).glob("*editable*.whl"):
            with zipfile.ZipFile(wheel, "a") as archive:
                archive.write("kvtrace.pth", "kvtrace.pth")


setup(
    cmdclass={"editable_wheel": EditableWheel},
    ext_modules=[
        Extension(
            "kvtrace.capture._hot",
            ["kvtrace/capture/_hot.c"],
            depends=[
                f"kvtrace/capture/_hot_{part}.h"
                for part in ("state", "key", "tables", "record", "launch", "signal")
            ],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            # Fewer cache lines a launch: calls into Python go by their address, not through a stub.
            extra_compile_args=["-fno-plt"] if sys.platform == "linux" else [],
            py_limited_api=True,
            optional=True,  # without a compiler the Python twin does the same
        ),
        Extension(
            "kvtrace.backends.cupti._buffers",
            ["kvtrace/backends/cupti/_buffers.c"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,  # without it there is no device timeline, which is said when asked for
        ),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)

"""The core's commands, by the heading that the help shows them under, and what a command is."""

from typing import Final, NamedTuple


class Command(NamedTuple):
    """A command: the module of its function, its line in the help, and its heading there.

    Attributes:
        module: the module of the function `command`.
        help: the line in `kvtrace --help`.
        passthrough: words after the first argument belong to the user's program.
        group: the heading of an add-on's command; the core's are in `GROUPS`. No help lists a
            command without a heading.
        exit_1: what exit code 1 says; empty if the command never ends with 1.
        instead: the words that replace this old name of a command. They are run in its place if
            the old name has no module.

    """

    module: str
    help: str
    passthrough: bool = False
    group: str = "Add-ons"
    exit_1: str = ""
    instead: str = ""


#: The headings of everyday commands: what a user wants.
EVERYDAY: Final = (
    "Record",
    "See what ran and how long it took",
    "Find a defect",
    "Compare",
)
#: The commands in `kvtrace --help`, by heading. Commands of two words share one line.
GROUPS: Final[dict[str, dict[str, Command]]] = {
    "Record": {
        "run": Command(
            "kvtrace.cli.run",
            "Record a script while it runs",
            passthrough=True,
            exit_1="the script ended with 1: its exit code is kept",
        ),
        "import": Command(
            "kvtrace.cli.import_", "Read traces of other tools, or add their times (--into)"
        ),
        "doctor": Command(
            "kvtrace.cli.doctor",
            "Show what works on this machine, and how to fix the rest",
            exit_1="a part is broken; with --settings, a variable is unknown, or a value invalid",
        ),
    },
    "See what ran and how long it took": {
        "info": Command("kvtrace.cli.info", "Show runs, kernels and launches at a glance"),
        "profile": Command("kvtrace.cli.profile", "Show time, bytes and FLOPs of each kernel"),
        "view": Command("kvtrace.cli.view", "Open the report or the timeline in a browser"),
        "report": Command("kvtrace.cli.report", "Write one self-contained HTML page"),
        "convert": Command("kvtrace.cli.convert", "Write a file for another tool"),
    },
    "Find a defect": {
        "sanitize": Command(
            "kvtrace.cli.sanitize",
            "Judge every memory access of each unique call",
            exit_1="an error that no comment suppresses",
        ),
        "repro": Command("kvtrace.cli.repro", "Write a script that launches one call again"),
    },
    "Compare": {
        "diff": Command(
            "kvtrace.cli.diff",
            "Compare two traces, runs or commits",
            exit_1="AFTER must not be merged",
        ),
    },
    "Kernels": {
        "sizes": Command(
            "kvtrace.cli.sizes",
            "Show for which sizes each kernel is proven",
            exit_1="a call breaks a condition",
        ),
    },
    "Many runs": {},  # filled by add-ons
    "Traces": {
        "sql": Command("kvtrace.cli.sql", "Query the tables in SQL"),
        "top": Command("kvtrace.cli.top", "Watch programs while they are recorded"),
        "trace validate": Command(
            "kvtrace.cli.validate", "Check every file of a trace", exit_1="a file breaks the format"
        ),
        "trace recover": Command("kvtrace.cli.recover", "Seal the journals of killed processes"),
        "trace compact": Command("kvtrace.cli.compact", "Merge the small files of a trace"),
        "trace prune": Command("kvtrace.cli.prune", "Delete old runs, or derived tables"),
        "trace redact": Command(
            "kvtrace.cli.redact", "Write a copy without source, paths, names …"
        ),
    },
    "": {
        "replay": Command("kvtrace.cli.replay", "Evaluate each unique call: ops, accesses, loops"),
        "env": Command("", "Print the settings in force", instead="doctor --settings"),
    },
}

"""Expectations of programs that are run by hand: each is printed, those that fail are kept."""

problems: list[str] = []


def expect(holds: bool, what: str) -> None:
    """Print whether something is as it should be."""
    print(f"    {'ok' if holds else 'WRONG'}: {what}", flush=True)
    if not holds:
        problems.append(what)

"""Arguments for blocks of 512 lanes, and truths for lanes that exchange elements."""

import torch

from corpus.questions.races import one_program

B = 512


def itself(lane):
    return lane


def after(lane):
    return (lane + 1) % B


def mirror(lane):
    return B - 1 - lane


def numbers(*more):
    """Return a function that returns a new tensor of 512 numbers and the arguments `more`."""
    return lambda: (torch.arange(512.0), *more)


def mirrored(*between):
    """Return the truth for lanes that load, then (after `between`) store mirrored elements."""
    return lambda: one_program(B, ("r", mirror), *between, ("w", itself))


def trips(count, *end):
    """Return the truth for trips in which lanes load the next lane's element, then store."""
    return lambda: one_program(B, *[("r", after), "|", ("w", itself), *end] * count)

"""Blocks of 512 lanes: arguments, places of lanes, and truths where lanes exchange elements."""

import torch

from benchmarks.attacks.threads.attack import one_program

B = 512


def itself(lane):
    return lane


def after(lane):
    return (lane + 1) % B


def mirror(lane):
    return B - 1 - lane


def numbers(*more):
    """Return a function that makes a tensor of 512 numbers, and gives further arguments."""
    return lambda: (torch.arange(512.0), *more)


def mirrored(*between):
    """Return a truth: lanes load what others store, with these steps between both."""
    return lambda: one_program(B, ("r", mirror), *between, ("w", itself))


def trips(count, *end):
    """Return a truth: in each trip lanes load the next one's element, wait and store their own."""
    return lambda: one_program(B, *[("r", after), "|", ("w", itself), *end] * count)

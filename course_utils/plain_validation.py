"""Checks of numbers, strings and other plain objects: the part of `validation` that needs no torch.

Widgets check their traits with these, so that a page of widgets loads quickly.
"""

import math
from collections.abc import Sequence
from numbers import Real


def check_int(**numbers: object) -> None:
    """Raise TypeError unless every number is an int; a bool is not one here."""
    for name, number in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"{name} must be an int, got {type(number).__name__}")


def check_ints(**lists: object) -> None:
    """Raise TypeError unless everything is a sequence of ints."""
    for name, numbers in lists.items():
        if not isinstance(numbers, Sequence) or not all(type(one) is int for one in numbers):
            raise TypeError(f"{name} must be a sequence of ints, got {numbers!r:.60}")


def check_at_least(least: int, /, **numbers: int) -> None:
    """Raise unless every number is an int that is not smaller than `least`."""
    check_int(**numbers)
    for name, number in numbers.items():
        if number < least:
            raise ValueError(f"{name} must be at least {least}, got {number}")


def check_number(**numbers: object) -> None:
    """Raise TypeError unless every value is a real number; a bool is not one here."""
    for name, number in numbers.items():
        if not isinstance(number, Real) or isinstance(number, bool):
            raise TypeError(f"{name} must be a number, got {type(number).__name__}")


def check_positive(**numbers: float) -> None:
    """Raise unless every value is a positive, finite number."""
    check_number(**numbers)
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise ValueError(f"{name} must be a positive number, got {number}")


def check_factor(factor: float) -> None:
    """Raise unless the factor by which a text is longer is a finite number of at least 1."""
    check_number(factor=factor)
    if not 1 <= factor < math.inf:
        raise ValueError(f"factor must be at least 1 and finite, got {factor}")


def check_even(**widths: int) -> None:
    """Raise unless every width is an even int from 2 on."""
    check_at_least(2, **widths)
    for name, width in widths.items():
        if width % 2:
            raise ValueError(f"{name} must be even, got {width}")


def check_num_heads(num_heads: int, d_model: int) -> None:
    """Raise unless `num_heads` is a positive int that divides the width of the stream."""
    check_int(num_heads=num_heads, d_model=d_model)
    if num_heads < 1 or d_model % num_heads:
        raise ValueError(
            f"num_heads must be at least 1 and divide the width {d_model}, got {num_heads}"
        )


def check_instance(kind: type, /, **things: object) -> None:
    """Raise TypeError unless everything is of this kind."""
    for name, thing in things.items():
        if not isinstance(thing, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, got {type(thing).__name__}")


def check_strings(**lists: object) -> None:
    """Raise TypeError unless everything is a sequence of strings; a single one is not."""
    for name, strings in lists.items():
        if (
            isinstance(strings, str)
            or not isinstance(strings, Sequence)
            or not all(isinstance(one, str) for one in strings)
        ):
            raise TypeError(f"{name} must be a sequence of strings, got {strings!r:.60}")


def check_callable(**functions: object) -> None:
    """Raise TypeError unless everything can be called."""
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{name} must be callable, got {type(function).__name__}")

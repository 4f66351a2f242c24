"""Work on many exercises at once, each in a process of its own, and say how far it is."""

import argparse
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

import torch
from tqdm import tqdm

from course_utils.checking.exercise import Exercise
from course_utils.exercises import all_exercises, find

Result = TypeVar("Result")


def each_exercise(work: Callable[[str], Result], names: Sequence[str]) -> Iterator[Result]:
    """Yield what `work` returns for each name, in their order.

    A single exercise is worked on in this process. In a terminal, a bar counts those that are done.

    Args:
        work: A function of a module, which other processes can import.
        names: The exercises' names.
    """
    if len(names) == 1:
        yield work(names[0])
        return
    fresh = multiprocessing.get_context("spawn")  # nothing that torch has started is carried over
    with ProcessPoolExecutor(
        initializer=torch.set_num_threads, initargs=(1,), mp_context=fresh
    ) as pool:
        yield from tqdm(pool.map(work, names), total=len(names), ncols=80, disable=None)


def named(parser: argparse.ArgumentParser, names: Sequence[str]) -> Sequence[Exercise]:
    """Return the exercises of these names, all where there are none; or exit with similar names."""
    try:
        return [find(name) for name in names] or all_exercises()
    except KeyError as error:
        parser.error(str(error.args[0]))

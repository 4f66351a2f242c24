"""Preloaded in the fork server, so that the process of each answer starts warm.

Everything from the course that an answer may import is loaded here: later it cannot be read.
"""

import contextlib
import gc
import importlib
import linecache
import pkgutil

import torch

import course_utils
from course_utils.exercises import all_exercises
from course_utils.grading import walls, worker
from course_utils.measure import count_flops, largest_tensor

__all__ = ["worker"]

all_exercises()
for found in pkgutil.walk_packages(course_utils.__path__, "course_utils."):
    if not found.name.endswith("__main__"):
        with contextlib.suppress(ImportError):  # modules that need Triton, where it is missing
            importlib.import_module(found.name)
walls.readable()
linecache.clearcache()  # which holds the source of what Triton and torch have looked at
# Parts of torch that are loaded late, and take seconds.
importlib.import_module("torch._dynamo")
count_flops(torch.ones, 1)
largest_tensor(torch.ones, 1)
# Garbage collection in a fork would touch, and so copy, every shared page.
gc.collect()
gc.freeze()

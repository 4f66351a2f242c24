"""Guesses: predictions that a reader gives before a cell is run, and what becomes of them.

A chapter's source holds what is asked (see `question`); the builder reads off the chapter's outputs
what was measured, and writes both into `guesses.json`. `guess` shows one, `draw_guess` draws it.
"""

from course_utils.guessing.ask import guess
from course_utils.guessing.figure import draw_guess

__all__ = ["draw_guess", "guess"]

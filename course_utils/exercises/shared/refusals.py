"""Arguments that must be refused with a ValueError: how a case looks at it. And those that must not."""

import traceback
from typing import Any

from course_utils.checking.recipe import Function

SAYS = "Arguments that do not fit must be answered with a ValueError, and with nothing else."


def refusal(fn: Function, *args: Any) -> str:
    """Return the name of the error with which a call is refused, or "no error"; a ValueError of any kind is one."""
    try:
        fn(*args)
    except NotImplementedError:
        raise
    except ValueError:
        return "ValueError"
    except Exception as error:
        return type(error).__name__
    return "no error"


def fitting(fn: Function, *args: Any) -> Any:
    """Call a function with arguments that fit; the words of its own ValueErrors become the same for all.

    So mistakes can be recognised that refuse too much, whatever an answer says as it refuses.
    """
    try:
        return fn(*args)
    except ValueError as error:
        line = traceback.extract_tb(error.__traceback__)[-1].line
        if not line or "raise " in line:
            error.args = ("arguments that fit were refused",)
        raise

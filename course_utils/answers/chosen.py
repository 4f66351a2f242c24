"""Choose the functions that an experiment runs with, and say whose they are."""

import html
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from course_utils.checking.report import CELL


class Functions:
    """Functions as attributes."""

    def __init__(self, functions: dict[str, Callable[..., Any]]) -> None:
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        there = ", ".join(one for one in vars(self) if not one.startswith("_"))
        raise AttributeError(f'there is no part "{name}" here, only {there}: name it in yours(...)')


@dataclass(frozen=True)
class Chosen:
    """The functions that were requested.

    Attributes:
        references: The course's, by name.
        own: The learner's, for the exercises passed.
        broken: Why a kept file is not used.
    """

    references: Mapping[str, Callable[..., Any]]
    own: Mapping[str, Callable[..., Any]]
    broken: Mapping[str, str]

    def functions(self, names: Iterable[str]) -> Functions:
        """Return the learner's functions for these names and the course's for all others."""
        return Functions({**self.references, **{name: self.own[name] for name in names}})

    def whose(self) -> list[tuple[str, str]]:
        """Return each function's name and whose it is."""
        said = []
        for name in self.references:
            whose = "yours" if name in self.own else "the course's"
            if name in self.broken:
                whose = f"the course's: your file stops with {self.broken[name]}"
            said.append((name, whose))
        return said

    def count(self) -> str:
        """Return a sentence on how many are the learner's."""
        total, own = len(self.references), len(self.own)
        if not own:
            return "All parts are the course's"
        return "All parts are yours" if own == total else f"{own} of {total} parts are yours"

    def lines(self) -> list[str]:
        """Return a line of text for each function."""
        width = max(map(len, self.references), default=0)
        return [f"{name:<{width}}  {whose}" for name, whose in self.whose()]

    def table(self) -> str:
        """Return the same as a table in HTML."""
        rows = "".join(
            f'<tr><th scope="row" style="{CELL};font-weight:normal"><code>{name}</code>'
            f'</th><td style="{CELL}">{html.escape(whose)}</td></tr>'
            for name, whose in self.whose()
        )
        return (
            f'<table style="margin:.3em 0"><thead><tr><th scope="col" style="{CELL}">part</th>'
            f'<th scope="col" style="{CELL}">whose</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )

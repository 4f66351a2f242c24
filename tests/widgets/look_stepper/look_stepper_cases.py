"""Steps of a decoder of width 2, as Python and the stepper must agree on them."""

from typing import Any

import torch

from course_utils.attention import attend, general_score
from course_utils.widgets import LookStepper, look_stepper

TRAITS = ("words", "states", "first", "turn", "keep", "factor")


def walk(widget: LookStepper) -> list[dict[str, Any]]:
    """Say what each step of the decoder makes, with the functions of chapter 02."""
    states, turn, keep, query = (
        torch.tensor(one, dtype=torch.float64)
        for one in (widget.states, widget.turn, widget.keep, [widget.first])
    )
    real = torch.ones(1, len(states), dtype=torch.bool)
    steps = []
    for _ in widget.words:
        scores = general_score(query[None], states[None], widget.factor * torch.eye(2).double())
        context, weights = attend(scores, states[None], real)
        state = torch.tanh(context[0] @ turn + query @ keep)
        made = {"query": query, "scores": scores, "weights": weights, "context": context}
        step: dict[str, Any] = {name: one.flatten().tolist() for name, one in made.items()}
        steps.append(step | {"state": state[0].tolist(), "best": int(weights.argmax())})
        query = state
    return steps


def cases() -> list[dict[str, Any]]:
    """Return the picture's own words at blurred and sharp factors, and others than those."""
    drawn = torch.randn(5, 2, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    five = [(word, word.upper()) for word in "abcde"]
    widgets = [look_stepper(factor=factor) for factor in (0.5, 2, 6)]
    widgets += [look_stepper(five, drawn.tolist()), look_stepper([("a", "b")], [[0.0, 0.0]])]
    return [{name: getattr(one, name) for name in TRAITS} | {"walk": walk(one)} for one in widgets]

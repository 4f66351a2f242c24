"""Small models made of the course's own parts."""

from course_utils.models.character_model import (
    CharacterModel,
    next_character_loss,
    train_character_model,
    weight_on_previous,
)

__all__ = [
    "CharacterModel",
    "next_character_loss",
    "train_character_model",
    "weight_on_previous",
]

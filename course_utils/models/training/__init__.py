"""Training of models: the loop, schedules, objectives, accumulation, mixed precision."""

from course_utils.models.training.loop import Progress, Training, descend, train, window_loss

__all__ = ["Progress", "Training", "descend", "train", "window_loss"]

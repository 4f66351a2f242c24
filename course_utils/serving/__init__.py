"""Many users of one model: their requests share its calls, its pages and their prefixes."""

from course_utils.serving.prefixes import Prefixes
from course_utils.serving.ragged import RaggedCache, feed
from course_utils.serving.request import Request, likeliest
from course_utils.serving.server import Server, Step
from course_utils.serving.static_batches import StaticStep, static_batches

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]

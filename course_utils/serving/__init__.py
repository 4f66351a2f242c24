"""Many readers of one model: their requests share its calls, its pages and their beginnings."""

from course_utils.serving.prefixes import Prefixes
from course_utils.serving.ragged import RaggedCache, feed
from course_utils.serving.request import Request, likeliest
from course_utils.serving.server import Server, Step
from course_utils.serving.static_batches import StaticStep, static_batches

__all__ = [
    "Prefixes",
    "RaggedCache",
    "Request",
    "Server",
    "StaticStep",
    "Step",
    "feed",
    "likeliest",
    "static_batches",
]

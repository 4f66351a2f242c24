"""GPT-2, Llama and its descendants: their parts, their settings, their weights."""

from course_utils.models.released.gguf.gguf_model import model
from course_utils.models.released.gguf.recorded_cells import with_model

"""Tests that accept any right implementation, the panels that try them, and two small judges."""

from course_utils.clinic.judging_attention import accepts_attention
from course_utils.clinic.judging_cache import accepts_cache
from course_utils.clinic.judging_rotation import accepts_rotation
from course_utils.clinic.judging_tiling import accepts_tiling
from course_utils.clinic.panels import PANELS, Implementation
from course_utils.clinic.pareto import pareto_front
from course_utils.clinic.units import unit_verdict

__all__ = [
    "PANELS",
    "Implementation",
    "accepts_attention",
    "accepts_cache",
    "accepts_rotation",
    "accepts_tiling",
    "pareto_front",
    "unit_verdict",
]

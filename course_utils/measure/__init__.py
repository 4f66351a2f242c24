"""Measuring: what a function costs, how a quantity grows, and what was recorded."""

from course_utils.measure.accuracy import exact_match
from course_utils.measure.additive_flops import additive_flops
from course_utils.measure.cost import count_flops, largest_tensor
from course_utils.measure.fit import PowerLaw, fit_exponent, fit_power_law
from course_utils.measure.kv_cache import kv_cache_bytes
from course_utils.measure.parameters import mha_parameters, qkv_parameters
from course_utils.measure.record import read_record
from course_utils.measure.roofline import attainable_flops, matmul_bytes, matmul_intensity
from course_utils.measure.variance import dot_product_variance

__all__ = [
    "PowerLaw",
    "additive_flops",
    "attainable_flops",
    "count_flops",
    "dot_product_variance",
    "exact_match",
    "fit_exponent",
    "fit_power_law",
    "kv_cache_bytes",
    "largest_tensor",
    "matmul_bytes",
    "matmul_intensity",
    "mha_parameters",
    "qkv_parameters",
    "read_record",
]

"""Measuring: what a function costs, how a quantity grows, and what was recorded."""

from course_utils.measure.accuracy import exact_match
from course_utils.measure.additive_flops import additive_flops
from course_utils.measure.attention_flops import attention_flops
from course_utils.measure.cache_plan import cache_plan
from course_utils.measure.cost import count_flops, largest_tensor
from course_utils.measure.fit import PowerLaw, fit_exponent, fit_power_law
from course_utils.measure.kv_cache import cache_fits, kv_cache_bytes
from course_utils.measure.parameters import mha_parameters, qkv_parameters
from course_utils.measure.peak_memory import peak_memory
from course_utils.measure.rank_collapse import rank_one_distance
from course_utils.measure.record import read_record
from course_utils.measure.roofline import attainable_flops, matmul_bytes, matmul_intensity
from course_utils.measure.scaling_law import ScalingLaw, compute_optimal, fit_scaling_law
from course_utils.measure.tile_trace import TileTrace, trace_torch, trace_triton
from course_utils.measure.traffic import hbm_traffic
from course_utils.measure.training_flops import training_flops
from course_utils.measure.training_memory import training_memory_bytes
from course_utils.measure.transformer_parameters import transformer_parameters
from course_utils.measure.variance import dot_product_variance
from course_utils.measure.windowed_loss import windowed_loss

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]

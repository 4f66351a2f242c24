"""Ways to tell attention where its tokens are, one scheme per file."""

from course_utils.positions.alibi import AlibiPositions, alibi_bias, alibi_slopes
from course_utils.positions.deberta import DebertaPositions, disentangled_scores
from course_utils.positions.equivariance import is_permutation_equivariant
from course_utils.positions.indexer import choose_keys, index_scores
from course_utils.positions.learned import LearnedPositions
from course_utils.positions.llama3 import llama3_frequencies
from course_utils.positions.longrope import longrope_frequencies, longrope_magnitude
from course_utils.positions.partial_rotary import PartialRotaryPositions
from course_utils.positions.rope import RotaryPositions, rope_interleaved, rope_split_halves
from course_utils.positions.rope_attention import rope_interleaved_attention
from course_utils.positions.rope_pairings import to_interleaved, to_split_halves
from course_utils.positions.rope_table import RopeTable, rope_frequencies
from course_utils.positions.scaling import interpolate_positions, ntk_base
from course_utils.positions.scheme import PositionScheme, relative_positions
from course_utils.positions.shaw import ShawPositions, shaw_scores
from course_utils.positions.sinusoidal import SinusoidalPositions, shift_matrix, sinusoidal_encoding
from course_utils.positions.t5_bias import T5Positions, t5_bucket
from course_utils.positions.yarn import yarn_frequencies, yarn_magnitude

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]

"""One attention over several processes: how its parts move, and what is sent."""

from course_utils.distributed.balance import ring_work
from course_utils.distributed.launch import run_ranks
from course_utils.distributed.layouts import contiguous_split, striped_split, zigzag_split
from course_utils.distributed.ring import ring_attention, ring_attention_step, ring_schedule
from course_utils.distributed.ring_autograd import parallel_ring_attention
from course_utils.distributed.tensor_heads import ring_all_reduce, tensor_parallel_attention
from course_utils.distributed.ulysses import sequence_to_heads, ulysses_attention
from course_utils.distributed.volume import SentBytes, communication_bytes

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]

"""Find what limits a matrix product, arithmetic or memory: its FLOP per byte, and the roofline.

Source: Williams, Waterman and Patterson 2009, Roofline: An Insightful Visual Performance Model for
    Multicore Architectures, https://doi.org/10.1145/1498765.1498785
Ours / theirs: intensity = operational intensity;  bandwidth = peak memory bandwidth
Differs: bytes are counted for an ideal cache: each input is read once, the output written once.
"""

from course_utils.validation import check_at_least, check_instance, check_number


def matmul_bytes(
    num_queries: int, num_keys: int, d_k: int, bytes_per_element: int, count_output: bool
) -> int:
    """Count the bytes that Q Kᵀ moves at least: Q and K read once, the scores written once.

    Args:
        num_queries: How many queries there are.
        num_keys: How many keys there are.
        d_k: Width of a query or key.
        bytes_per_element: 4 for float32, 2 for float16.
        count_output: Whether the scores go to memory; a fused kernel never writes them.
    """
    check_at_least(1, num_queries=num_queries, num_keys=num_keys, d_k=d_k)
    check_at_least(1, bytes_per_element=bytes_per_element)
    check_instance(bool, count_output=count_output)
    elements = (num_queries + num_keys) * d_k
    if count_output:
        elements += num_queries * num_keys
    return elements * bytes_per_element


def matmul_intensity(
    num_queries: int, num_keys: int, d_k: int, bytes_per_element: int, count_output: bool
) -> float:
    """Return the floating-point operations of Q Kᵀ, 2 per multiply-add, per byte moved.

    Args:
        num_queries: How many queries there are.
        num_keys: How many keys there are.
        d_k: Width of a query or key.
        bytes_per_element: 4 for float32, 2 for float16.
        count_output: Whether the scores go to memory.
    """
    moved = matmul_bytes(num_queries, num_keys, d_k, bytes_per_element, count_output)
    return 2 * num_queries * num_keys * d_k / moved


def attainable_flops(intensity: float, peak_flops: float, bandwidth: float) -> float:
    """Return the FLOP per second that a machine allows: the lower of its two roofs.

    The roofs meet at the intensity peak_flops / bandwidth, the ridge; left of it, memory decides.

    Args:
        intensity: FLOP per byte moved.
        peak_flops: FLOP per second that the arithmetic can do.
        bandwidth: Bytes per second that the memory can move.
    """
    check_number(intensity=intensity, peak_flops=peak_flops, bandwidth=bandwidth)
    given = (intensity, peak_flops, bandwidth)
    if min(given) < 0:
        raise ValueError(f"intensity, peak_flops and bandwidth must be at least 0, got {given}")
    return min(float(peak_flops), float(intensity * bandwidth))

"""Checks of the claims of chapter 01."""

from course_utils.claims.finding import Finding, weigh
from course_utils.claims.registry import recomputes


@recomputes("01-06")
def states_take_400_kilobytes() -> Finding:
    """50 states each of encoder and decoder, of width 1024 and 4 bytes: 400 KB."""
    num_bytes = 2 * 50 * 1024 * 32 // 8
    return weigh(f"{num_bytes:,} B = {num_bytes / 1024:g} KiB", holds=num_bytes == 400 * 1024)

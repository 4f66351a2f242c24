"""Torch's public context parallelism, with which nothing can be compared on CPUs yet."""

import pytest
import torch

from course_utils.distributed import run_ranks
from tests.peers.long_context_jobs import their_public_ring

SAYS = {
    "MATH": "RuntimeError: aten.add.Tensor got mixed torch.Tensor and DTensor",
    "FLASH_ATTENTION": "NotImplementedError: Operator aten._scaled_dot_product_flash_attention_for"
    "_cpu.default does not have a sharding strategy registered",
}


@pytest.mark.parametrize("backend", SAYS)
def test_it_does_not_run_and_the_day_it_does_is_noticed(backend) -> None:
    given = torch.ones(3, 2, 4, 32, 8)
    for said in run_ranks(their_public_ring, 2, tuple(given), backend, timeout=120.0):
        assert said.startswith(SAYS[backend])

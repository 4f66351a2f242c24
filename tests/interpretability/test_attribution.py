import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.interpretability import direct_attribution
from tests.support import draw

EPS = 1e-5


def drawn(batch: int = 2, layers: int = 3, heads: int = 4) -> tuple[Tensor, ...]:
    outputs, matrices = draw(batch, layers, heads, 5), draw(layers, heads, 5, 6, seed=1)
    stream = torch.einsum("bnhk,nhkd->bd", outputs, matrices) + draw(batch, 6, seed=2)
    return outputs, matrices, stream, draw(6, seed=3), draw(batch, 6, seed=4)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 4), (3, 1, 5)])
@pytest.mark.peer(
    "20", "`direct_attribution`", "`torch.autograd.grad`", "float64 1e-7", "gradients × inputs"
)
def test_it_is_gradient_times_input_with_the_norm_frozen(sizes: tuple[int, int, int]) -> None:
    outputs, matrices, stream, gain, direction = drawn(*sizes)
    given = outputs.clone().requires_grad_()
    rest = stream - torch.einsum("bnhk,nhkd->bd", outputs, matrices)
    whole = rest + torch.einsum("bnhk,nhkd->bd", given, matrices)
    frozen = (whole.detach().square().mean(dim=-1, keepdim=True) + EPS).sqrt()
    logits = (whole / frozen * gain * direction).sum(dim=-1)
    (slope,) = torch.autograd.grad(logits.sum(), given)
    found = direct_attribution(outputs, matrices, stream, gain, direction, EPS)
    torch.testing.assert_close(found, (slope * outputs).sum(dim=-1))


def test_with_the_rest_of_the_stream_the_parts_sum_to_the_difference() -> None:
    outputs, matrices, stream, gain, direction = drawn()
    rest = stream - torch.einsum("bnhk,nhkd->bd", outputs, matrices)
    own = torch.eye(6, dtype=rest.dtype)[None, None]
    parts = direct_attribution(outputs, matrices, stream, gain, direction, EPS).sum(dim=(1, 2))
    others = direct_attribution(rest[:, None, None], own, stream, gain, direction, EPS)
    wanted = (F.rms_norm(stream, (6,), gain, EPS) * direction).sum(dim=-1)
    torch.testing.assert_close(parts + others.view(-1), wanted)


def test_it_is_a_loop_over_prompts_layers_and_heads() -> None:
    outputs, matrices, stream, gain, direction = drawn()
    found = direct_attribution(outputs, matrices, stream, gain, direction, EPS)
    for b, n, h in torch.cartesian_prod(*map(torch.arange, found.shape)).tolist():
        size = (sum(x * x for x in stream[b]) / 6 + EPS) ** 0.5
        wrote = [sum(outputs[b, n, h] * column) for column in matrices[n, h].mT]
        one = sum(w * g * u / size for w, g, u in zip(wrote, gain, direction[b], strict=True))
        assert found[b, n, h].item() == pytest.approx(float(one))


def test_what_does_not_fit_is_refused() -> None:
    outputs, matrices, stream, gain, direction = drawn()
    says = r"must have shapes \(B, n, H, d_k\) and \(n, H, d_k, d\), got \(2, 3, 4, 5\) and \(3, 4,"
    with pytest.raises(ValueError, match=says):
        direct_attribution(outputs, matrices[..., :4, :], stream, gain, direction, EPS)
    for heads, table in ((outputs[0], matrices), (outputs, matrices[0])):
        with pytest.raises(ValueError, match="head_outputs and W_O must have shapes"):
            direct_attribution(heads, table, stream, gain, direction, EPS)
    with pytest.raises(ValueError, match="final_state"):
        direct_attribution(outputs, matrices, stream[:1], gain, direction, EPS)

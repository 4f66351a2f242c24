import pytest
import torch
from torch import Tensor, nn

from course_utils.models import encode, rnn_step
from tests.support import draw

TORCH_RNN = pytest.mark.peer(
    "01",
    "`rnn_step`, `encode`",
    "`torch.nn.RNN`, also on a packed sequence",
    "float64 1e-7",
    "states, contexts",
)


def parameters(d_in: int, d_h: int) -> tuple[Tensor, ...]:
    shapes = ((d_in, d_h), (d_h, d_h), (d_h,))
    return tuple(draw(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes))


def torch_rnn(d_in: int, d_h: int, W_xh: Tensor, W_hh: Tensor, b: Tensor) -> nn.RNN:
    rnn = nn.RNN(d_in, d_h, batch_first=True).double()
    with torch.no_grad():
        rnn.weight_ih_l0.copy_(W_xh.T)
        rnn.weight_hh_l0.copy_(W_hh.T)
        rnn.bias_ih_l0.copy_(b)
        rnn.bias_hh_l0.zero_()
    return rnn


@pytest.mark.parametrize(("batch", "d_in", "d_h"), [(4, 3, 5), (1, 6, 2), (3, 1, 1)])
@TORCH_RNN
def test_a_step_agrees_with_torch(batch, d_in, d_h) -> None:
    x, h = draw(batch, d_in), draw(batch, d_h, seed=7)
    W_xh, W_hh, b = parameters(d_in, d_h)
    rnn = torch_rnn(d_in, d_h, W_xh, W_hh, b)
    out, _ = rnn(x.unsqueeze(1), h.unsqueeze(0))
    torch.testing.assert_close(rnn_step(x, h, W_xh, W_hh, b), out[:, 0])


@pytest.mark.parametrize(
    ("lengths", "steps"), [((6, 1, 4, 3), 6), ((2,), 5), ((1, 1), 1), ((2, 3, 2), 4)]
)
@pytest.mark.peer(
    "01", "`rnn_step`, `encode`", "`torch.nn.RNN`", "float64 1e-7", "states, contexts, gradients"
)
def test_encoding_agrees_with_torch_and_so_do_its_gradients(lengths, steps) -> None:
    x = draw(len(lengths), steps, 3).requires_grad_()
    W_xh, W_hh, b = parameters(3, 5)
    rnn = torch_rnn(3, 5, W_xh, W_hh, b)
    states, context = encode(x, torch.tensor(lengths), W_xh, W_hh, b)
    out, _ = rnn(x)
    last = torch.stack([out[i, length - 1] for i, length in enumerate(lengths)])
    torch.testing.assert_close((states, context), (out, last))
    weigh = draw(*states.shape, seed=3), draw(*context.shape, seed=4)
    ours = (states * weigh[0]).sum() + (context * weigh[1]).sum()
    theirs = (out * weigh[0]).sum() + (last * weigh[1]).sum()
    want = torch.autograd.grad(
        theirs, (x, rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0), retain_graph=True
    )
    got = torch.autograd.grad(ours, (x, W_xh, W_hh, b))
    torch.testing.assert_close(got, (want[0], want[1].T, want[2].T, want[3]))


@TORCH_RNN
def test_the_context_is_what_packing_would_leave() -> None:
    lengths, x = torch.tensor([2, 5, 3]), draw(3, 5, 4)
    W_xh, W_hh, b = parameters(4, 6)
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    _, final = torch_rnn(4, 6, W_xh, W_hh, b)(packed)
    _, context = encode(x, lengths, W_xh, W_hh, b)
    torch.testing.assert_close(context, final[0])


def test_the_context_does_not_know_the_padding_but_the_states_do() -> None:
    x, lengths = draw(2, 5, 3), torch.tensor([3, 5])
    W_xh, W_hh, b = parameters(3, 4)
    other = x.clone()
    other[0, 3:] = 9.0
    (states, context), (moved, same) = (encode(t, lengths, W_xh, W_hh, b) for t in (x, other))
    assert torch.equal(context, same)
    assert torch.equal(states[0, :3], moved[0, :3])
    assert (states[0, 3:] != moved[0, 3:]).any(-1).all()


X, H, W_XH, W_HH, B = (torch.zeros(s) for s in ((2, 3), (2, 4), (3, 4), (4, 4), (4,)))
SEQUENCES, TWO = torch.zeros(2, 5, 3), torch.tensor([2, 5])


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: rnn_step(X, H[:1], W_XH, W_HH, B), ValueError, r"h must have the shape \(2, 4\)"),
        (lambda: encode(X, TWO, W_XH, W_HH, B), ValueError, "x must have the axes"),
        (
            lambda: encode(SEQUENCES, TWO + 1, W_XH, W_HH, B),
            ValueError,
            r"lengths must lie between 1 and 5, got \[3, 6\]",
        ),
        (lambda: encode(SEQUENCES, TWO - 2, W_XH, W_HH, B), ValueError, r"got \[0, 3\]"),
        (lambda: encode(SEQUENCES[:, :0], TWO, W_XH, W_HH, B), ValueError, "between 1 and 0"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()

"""Time the course's multi-head attention beside the libraries that readers would use instead.

Method: width 512, 8 heads, float32, one thread, weights copied so that all compute the same. Each
peer is compared with the course's module (one product for queries, keys and values, then torch's
attention) as `timing.py` says. The ratio is ours / peer: below 1, ours is faster. x-transformers
has no biases, and is compared with our module without them.

`agreement` is the largest difference from our output, and with the backward pass also from our
gradient of the input, relative to the largest entry. It takes a quarter of an hour on one core, and
needs the extra [bench]:

    sh tools/setup.sh --extras bench
    python -m benchmarks.chapters.ch05.chapter_05_multi_head
"""

from functools import partial
from importlib.metadata import version

import torch
from torch import Tensor, nn
from tqdm import tqdm

from benchmarks.peers.multi_head_peers import HEADS, OURS, WIDTH, Call, candidates
from benchmarks.recording import Row, Script
from benchmarks.timing import in_rounds, ratio

FORWARD = ((8, 64), (4, 256), (1, 1024), (1, 4096))
BACKWARD = FORWARD[:3]


def forward(module: nn.Module, call: Call, x: Tensor) -> tuple[Tensor, ...]:
    """Run as in inference."""
    with torch.inference_mode():
        return (call(x),)


def forward_and_backward(module: nn.Module, call: Call, x: Tensor) -> tuple[Tensor, ...]:
    """Run as in training: the output, and the gradients of the input and of every parameter."""
    x = x.detach().requires_grad_()
    out = call(x)
    slope = torch.linspace(-1, 1, WIDTH).expand_as(out)
    gradients = torch.autograd.grad(out, [x, *module.parameters()], slope)
    return out, gradients[0]


def difference(got: tuple[Tensor, ...], want: tuple[Tensor, ...]) -> float:
    """Return the largest difference between two runs, relative to the largest entry."""
    pairs = zip(got, want, strict=True)
    return max(float((a - b).detach().abs().max() / b.detach().abs().max()) for a, b in pairs)


def compare(batch: int, length: int, causal: bool, backward: bool, rounds: int) -> list[Row]:
    """Time all candidates at one size; one record a candidate."""
    x = torch.randn(batch, length, WIDTH, generator=torch.Generator().manual_seed(1))
    work = forward_and_backward if backward else forward
    found = candidates(causal, length)
    runs = {name: partial(work, *one, x) for name, one in found.items()}
    for module, _ in found.values():
        module.train(backward)
    reference = {n: n if n in OURS else OURS["x-transformers" in n] for n in runs}
    agreement = {name: difference(run(), runs[reference[name]]()) for name, run in runs.items()}
    seconds = in_rounds(runs, rounds, seconds=0.1)
    records = []
    for name, measured in seconds.items():
        records.append({
            "batch": batch, "length": length, "mask": "causal" if causal else "none",
            "pass": "forward and backward" if backward else "forward", "what": name,
            "ours_over_this": ratio(seconds[reference[name]], measured),
            "agreement": float(f"{agreement[name]:.1e}"),
            "milliseconds": [round(1e3 * one, 3) for one in measured],
        })  # fmt: skip
    return records


def main() -> None:
    """Time every size and write one JSON file."""
    script = Script(__file__, __doc__, rounds=21)
    cases = [(*size, causal, False) for causal in (False, True) for size in FORWARD]
    cases += [(*size, causal, True) for causal in (False, True) for size in BACKWARD]
    rounds = script.options.rounds
    runs = [row for case in tqdm(cases, ncols=80) for row in compare(*case, rounds)]
    script.record(
        what="CPU time of multi-head attention, ours over each peer's, and the largest difference",
        settings={
            "d_model": WIDTH, "num_heads": HEADS, "dtype": "float32",
        },
        runs=runs,
        versions={name: version(name) for name in ("transformers", "x-transformers")},
    )  # fmt: skip


if __name__ == "__main__":
    main()

"""Objectives and costs of training, compared with torch, its counters and Hugging Face's models."""

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    BertConfig,
    BertModel,
    DataCollatorForLanguageModeling,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from course_utils.measure import (
    training_flops,
    training_memory_bytes,
    transformer_parameters,
)
from course_utils.models import (
    accumulated_gradient,
    causal_lm_loss,
    label_smoothed_loss,
    mask_tokens,
)
from tests.support import draw


def with_padding(logits: Tensor, pad_id: int) -> Tensor:
    g = torch.Generator().manual_seed(3)
    target = torch.randint(logits.shape[-1], logits.shape[:2], generator=g)
    return target.masked_fill(torch.rand(target.shape, generator=g) < 0.3, pad_id)


@pytest.mark.parametrize("pad_id", [0, 4, -100])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("shape", [(2, 5, 7), (3, 4, 6), (4, 8, 5)])
@pytest.mark.peer(
    "12", "`causal_lm_loss`, `label_smoothed_loss`",
    "`F.cross_entropy` with `ignore_index` and `label_smoothing`", "float64 1e-7",
    "losses, gradients",
)  # fmt: skip
def test_the_losses_are_torch_s(shape, smoothing, pad_id) -> None:
    logits = draw(*shape, seed=2).requires_grad_()
    target = with_padding(logits, pad_id)
    smoothed = label_smoothed_loss(logits, target, smoothing, pad_id)
    options = {"ignore_index": pad_id}
    want = F.cross_entropy(logits.mT, target, label_smoothing=smoothing, **options)
    following = causal_lm_loss(logits, target, pad_id)
    shifted = F.cross_entropy(logits[:, :-1].mT, target[:, 1:], **options)
    for ours, theirs in ((smoothed, want), (following, shifted)):
        torch.testing.assert_close(ours, theirs)
        slopes = [torch.autograd.grad(one, logits)[0] for one in (ours, theirs)]
        torch.testing.assert_close(*slopes)


SMALL_T5 = {"d_model": 8, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_heads": 2}


def small_models() -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    gpt = GPT2LMHeadModel(GPT2Config(vocab_size=11, n_embd=8, n_layer=1, n_head=2, n_positions=9))
    t5 = T5ForConditionalGeneration(
        T5Config(vocab_size=11, decoder_start_token_id=0, pad_token_id=0, **SMALL_T5)
    )
    return gpt.eval(), t5.double().eval()  # GPT-2's loss is taken in float32 in any case


@pytest.mark.peer(
    "12", "`causal_lm_loss`, `label_smoothed_loss`", "`GPT2LMHeadModel(labels=…).loss`, T5's",
    "float32 1.3e-6", "losses, gradients",
)  # fmt: skip
def test_the_losses_are_those_of_gpt2_and_t5() -> None:
    gpt, t5 = small_models()
    tokens = torch.randint(1, 11, (3, 7), generator=torch.Generator().manual_seed(1))
    labels = tokens.clone()
    labels[0, 5:] = labels[2, 3:] = -100
    read = gpt(tokens, labels=labels)
    written = t5(input_ids=tokens, labels=labels)
    for model, theirs, ours in (
        (gpt, read.loss, causal_lm_loss(read.logits, labels, -100)),
        (t5, written.loss, label_smoothed_loss(written.logits, labels, 0.0, -100)),
    ):
        torch.testing.assert_close(ours, theirs)
        used = list(model.parameters())
        slopes = [torch.autograd.grad(one, used, retain_graph=True) for one in (ours, theirs)]
        torch.testing.assert_close(*slopes)


def shares(inputs: Tensor, labels: Tensor, tokens: Tensor, mask_id: int) -> Tensor:
    """Return how much is selected, and how much of that hidden, replaced and kept."""
    selected = labels != -100
    assert torch.equal(labels[selected], tokens[selected])
    hidden, kept = inputs[selected] == mask_id, inputs[selected] == tokens[selected]
    found = [selected, hidden, ~hidden & ~kept, kept]
    return torch.stack([one.double().mean() for one in found])


@pytest.mark.peer(
    "12", "`mask_tokens`", "`DataCollatorForLanguageModeling`", "float64 2e-2",
    "shares of 30,000 tokens; labels",
)  # fmt: skip
def test_masking_hides_as_many_as_hugging_face_s_collator() -> None:
    words = {"[PAD]": 0, "[CLS]": 1, "[MASK]": 2} | {f"w{i}": i for i in range(3, 500)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(WordLevel(words, unk_token="[PAD]")),
        pad_token="[PAD]", cls_token="[CLS]", mask_token="[MASK]",
    )  # fmt: skip
    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15, seed=1)
    tokens = torch.randint(3, 500, (300, 102), generator=torch.Generator().manual_seed(0))
    tokens[:, 0], tokens[:, -1] = 1, 0
    theirs = collator([{"input_ids": row.tolist()} for row in tokens])
    ours = mask_tokens(tokens, 2, 500, [0, 1, 2], torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        shares(*ours, tokens, 2),
        shares(theirs["input_ids"], theirs["labels"], tokens, 2),
        rtol=0.02, atol=0.02,
    )  # fmt: skip


@pytest.mark.parametrize("sizes", [(37, 19, 24, 23), (5, 1), (8,)])
@pytest.mark.peer(
    "12", "`accumulated_gradient`", "`torch.autograd.grad` of the whole batch", "float64 1e-7",
    "gradients",
)  # fmt: skip
def test_parts_have_the_gradient_of_the_whole_batch(sizes) -> None:
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True).double()
    used = list(model.parameters())
    texts = [draw(1, n, 8, seed=n) for n in sizes]

    def summed(micro: list[Tensor]) -> tuple[Tensor, int]:
        return sum(model(x).square().sum() for x in micro), sum(x.shape[1] for x in micro)

    total, count = summed(texts)
    parts = accumulated_gradient(summed, used, [[text] for text in texts])
    torch.testing.assert_close(parts, torch.autograd.grad(total / count, used))


class Layer(nn.Module):
    """A pre-norm layer whose products are all written out, as torch's counter needs them."""

    def __init__(self, d_model: int, d_ff: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))
        self.project = nn.Linear(d_model, 3 * d_model)
        self.mix = nn.Linear(d_model, d_model)
        self.widen, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        parts = self.project(self.norms[0](x)).unflatten(-1, (3, self.num_heads, -1))
        q, k, v = parts.movedim(2, 0).transpose(2, 3)
        future = torch.ones(length, length).triu(1).bool()
        weights = (q @ k.mT).masked_fill(future, -torch.inf).softmax(-1)
        x = x + self.mix((weights @ v).transpose(1, 2).flatten(2))
        return x + self.narrow(self.widen(self.norms[1](x)).relu())


def counted(batch, num_tokens, d_model, num_layers, d_ff, vocab_size, recompute) -> int:
    """Return what torch counts in a forward and a backward pass."""
    layers = nn.ModuleList(Layer(d_model, d_ff, 2) for _ in range(num_layers))
    embedding, head = nn.Embedding(vocab_size, d_model), nn.Linear(d_model, vocab_size, bias=False)
    tokens = torch.randint(vocab_size, (batch, num_tokens), generator=torch.Generator())
    with FlopCounterMode(display=False) as counter, set_checkpoint_early_stop(False):
        x = embedding(tokens)
        for layer in layers:
            x = checkpoint(layer, x, use_reentrant=False) if recompute else layer(x)
        F.cross_entropy(head(x).mT, tokens).backward()
    return counter.get_total_flops()


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("sizes", [(2, 5, 6, 3, 7, 11), (1, 9, 4, 1, 3, 13), (3, 4, 10, 2, 8, 5)])
@pytest.mark.peer(
    "12", "`training_flops`",
    "`torch.utils.flop_counter`, with and without `torch.utils.checkpoint`", "equal",
    "operations of a forward pass and its gradients",
)  # fmt: skip
def test_a_step_costs_what_torch_s_counter_says(sizes, recompute) -> None:
    assert training_flops(*sizes, recompute) == counted(*sizes, recompute)


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.peer(
    "12", "`transformer_parameters`",
    "`BertModel`, `GPT2LMHeadModel`, `LlamaForCausalLM` at published sizes", "equal", "parameters",
)  # fmt: skip
def test_the_parameters_are_those_of_hugging_face_s_models(layers) -> None:
    """Widths as published, without memory; a layer more or less says what a layer has."""
    gpt = GPT2Config(n_embd=1600, n_head=25, n_layer=layers)
    llama = LlamaConfig(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=layers,
        num_attention_heads=32, num_key_value_heads=8,
    )  # fmt: skip
    with torch.device("meta"):
        read = BertModel(BertConfig(num_hidden_layers=layers))
        found = parameters(read), parameters(GPT2LMHeadModel(gpt))
        wide = parameters(LlamaForCausalLM(llama))
    bert = transformer_parameters(30522, 768, layers, 3072, 12, 12, 514, False, True, True)
    pooler = 768 * 769
    small = transformer_parameters(50257, 1600, layers, 6400, 25, 25, 1024, False, True, True)
    assert found == (bert + pooler, small)
    sizes = (128256, 4096, layers, 14336, 32, 8, 0)
    assert wide == transformer_parameters(*sizes, True, False, False)


def kept_bytes(optimizer: torch.optim.Optimizer) -> int:
    """Return the bytes of an optimizer's states; its counters of steps are no part of them."""
    states = optimizer.state_dict()["state"].values()
    tensors = [one for state in states for one in state.values() if isinstance(one, Tensor)]
    return sum(one.nbytes for one in tensors if one.dim())


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("name", ["sgd", "momentum", "adam"])
@pytest.mark.peer(
    "12", "`training_memory_bytes`", "weights, gradients and `state_dict` of `torch.optim`",
    "equal", "bytes of weights, gradients and states, under autocast too",
)  # fmt: skip
def test_the_bytes_are_those_that_torch_keeps(name, frozen) -> None:
    model = nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 3))
    model[0].requires_grad_(not frozen)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = {
        "sgd": lambda: torch.optim.SGD(trained, 0.1),
        "momentum": lambda: torch.optim.SGD(trained, 0.1, momentum=0.9),
        "adam": lambda: torch.optim.AdamW(trained),
    }[name]()
    with torch.autocast("cpu", torch.bfloat16):
        model(torch.ones(2, 5)).sum().backward()
    optimizer.step()
    found = sum(p.nbytes for p in model.parameters()) + kept_bytes(optimizer)
    found += sum(p.grad.nbytes for p in trained)
    count = sum(p.numel() for p in trained)
    assert found == training_memory_bytes(parameters(model), count, 0, name, False)

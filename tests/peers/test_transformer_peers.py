"""The layers of chapter 11 beside torch's, and whole models beside Hugging Face's."""

import itertools

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    LlamaConfig,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.models.bert.modeling_bert import BertLayer
from transformers.models.gpt2.modeling_gpt2 import GPT2Block
from transformers.models.llama import modeling_llama
from transformers.models.t5 import modeling_t5

from course_utils.attention import causal_mask
from course_utils.data import PAD
from course_utils.models import (
    DecoderLayer,
    EncoderLayer,
    Transformer,
    beam_search,
    gated_feed_forward,
    layer_norm,
    rms_norm,
    stream_mask,
    transformer_masks,
)
from course_utils.positions import rope_split_halves
from tests.peers.peer_support import (
    BATCH,
    HEADS,
    WIDTH,
    exact_norm,
    exact_rotation,
    results,
    seeded,
)
from tests.peers.wired import T5, Weights, bert, bert_layer, gpt2_block, llama_layer
from tests.support import draw

TORCH_LAYERS = pytest.mark.peer(
    "11", "`EncoderLayer`, `DecoderLayer`", "torch's layers, both orders", "float64 1e-12",
    "outputs, gradients",
)  # fmt: skip
MODELS = pytest.mark.peer(
    "11", "`encoder_layer`, `decoder_layer`, `layer_norm`, `rms_norm`, `feed_forward`",
    "BERT's and T5's models, layers of BERT, GPT-2, Llama", "float64 1e-12", "outputs",
)  # fmt: skip

D_FF, LENGTH, REMEMBERED, TOKENS = 20, 7, 5, 11
EXACT = {"rtol": 1e-12, "atol": 1e-12}
ORDERS = pytest.mark.parametrize("pre_norm", [True, False], ids=["pre-norm", "post-norm"])
ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "gelu"])


def torch_s(kind: type[nn.Module], pre_norm: bool, activation: str = "relu") -> nn.Module:
    """Return one of torch's layers in training mode; in evaluation it takes another path."""
    how = {"dropout": 0.0, "batch_first": True, "norm_first": pre_norm, "activation": activation}
    return seeded(kind(WIDTH, HEADS, D_FF, **how))


def with_its_weights(kind: type[nn.Module], theirs: nn.Module, **options) -> nn.Module:
    ours = kind(WIDTH, HEADS, D_FF, **options).double()
    ours.load_state_dict(theirs.state_dict())
    return ours


def weights(module: nn.Module) -> list[Tensor]:
    return [parameter for _, parameter in sorted(module.named_parameters())]


@ORDERS
@ACTIVATIONS
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("training", [False, True])
@TORCH_LAYERS
def test_encoder_layer(pre_norm, activation, masked, training) -> None:
    theirs = torch_s(nn.TransformerEncoderLayer, pre_norm, activation).train(training)
    ours = with_its_weights(EncoderLayer, theirs, pre_norm=pre_norm, activation=activation)
    x = draw(BATCH, LENGTH, WIDTH).requires_grad_()
    mask = causal_mask(LENGTH, LENGTH) if masked else None
    hidden = None if mask is None else ~mask
    got = results(lambda x: ours(x, mask), (x,), (x, *weights(ours)))
    want = results(lambda x: theirs(x, hidden), (x,), (x, *weights(theirs)))
    torch.testing.assert_close(got, want, **EXACT)


@ORDERS
@ACTIVATIONS
@TORCH_LAYERS
def test_decoder_layer(pre_norm, activation) -> None:
    theirs = torch_s(nn.TransformerDecoderLayer, pre_norm, activation)
    ours = with_its_weights(DecoderLayer, theirs, pre_norm=pre_norm, activation=activation)
    given = draw(BATCH, LENGTH, WIDTH), draw(BATCH, REMEMBERED, WIDTH, seed=1)
    x, memory = (one.requires_grad_() for one in given)
    mask = causal_mask(LENGTH, LENGTH)
    seen = torch.tensor([[True] * REMEMBERED, [True] * (REMEMBERED - 2) + [False] * 2])

    def call_theirs(x: Tensor, memory: Tensor) -> Tensor:
        return theirs(x, memory, ~mask, memory_key_padding_mask=~seen)

    def call_ours(x: Tensor, memory: Tensor) -> Tensor:
        return ours(x, memory, mask, seen[:, None, None])

    got = results(call_ours, (x, memory), (x, memory, *weights(ours)))
    want = results(call_theirs, (x, memory), (x, memory, *weights(theirs)))
    torch.testing.assert_close(got, want, **EXACT)


@ORDERS
@pytest.mark.peer(
    "11", "`EncoderLayer`, `DecoderLayer`", "torch's layers, both orders", "float64 1e-12",
    "weights after a step of their gradients",
)  # fmt: skip
def test_one_training_step_gives_the_same_weights(pre_norm) -> None:
    x, memory, target = (draw(BATCH, n, WIDTH, seed=n) for n in (LENGTH, REMEMBERED, LENGTH))
    stepped = []
    for kinds in ("torch's", "ours"):
        pair = [torch_s(kind, pre_norm) for kind in
                (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)]  # fmt: skip
        if kinds == "ours":
            ours = zip((EncoderLayer, DecoderLayer), pair, strict=True)
            pair = [with_its_weights(kind, one, pre_norm=pre_norm) for kind, one in ours]
        reader, writer = pair
        optimiser = torch.optim.SGD((*reader.parameters(), *writer.parameters()), lr=0.1)
        F.mse_loss(writer(x, reader(memory)), target).backward()
        optimiser.step()
        stepped.append({**reader.state_dict(prefix="r."), **writer.state_dict(prefix="w.")})
    torch.testing.assert_close(*stepped, **EXACT)
    before = torch_s(nn.TransformerEncoderLayer, pre_norm).linear1.weight
    assert not torch.allclose(stepped[1]["r.linear1.weight"], before)


def torch_s_whole(pre_norm: bool) -> nn.Transformer:
    """Return a Transformer of 2 and 3 layers; behind post-norm layers it has no further norm."""
    norms = [nn.LayerNorm(WIDTH) if pre_norm else None for _ in range(2)]
    layer = torch_s(nn.TransformerEncoderLayer, pre_norm)
    reader = nn.TransformerEncoder(layer, 2, norms[0], enable_nested_tensor=False)
    layer = torch_s(nn.TransformerDecoderLayer, pre_norm)
    parts = {"custom_encoder": reader, "custom_decoder": nn.TransformerDecoder(layer, 3, norms[1])}
    return nn.Transformer(WIDTH, HEADS, batch_first=True, **parts).double()


@ORDERS
@pytest.mark.peer(
    "11", "`Transformer`, `transformer_masks`", "`nn.Transformer` with the same weights",
    "float64 1e-12", "logits, gradients",
)  # fmt: skip
def test_the_whole_model(pre_norm) -> None:
    sizes = {"d_model": WIDTH, "num_heads": HEADS, "d_ff": D_FF, "num_layers": (2, 3)}
    ours = seeded(Transformer(TOKENS, TOKENS + 2, pre_norm=pre_norm, **sizes))
    theirs = torch_s_whole(pre_norm)
    owned = {k: v for k, v in ours.state_dict().items() if k.startswith(("encoder", "decoder"))}
    theirs.load_state_dict(owned)
    source = torch.tensor([[4, 5, 6, 7, 8], [9, 4, 8, PAD, PAD]])
    target = torch.tensor([[1, 5, 12, 7, 4, 2], [1, 6, 2, PAD, PAD, PAD]])

    def encoded() -> Tensor:
        read = target[:, :-1]
        x = ours.source_token(source) + ours.source_positions.table.weight[: source.shape[1]]
        y = ours.target_token(read) + ours.target_positions.table.weight[: read.shape[1]]
        hidden = source == PAD
        return ours.out(theirs(
            x, y, tgt_mask=~causal_mask(5, 5), src_key_padding_mask=hidden,
            tgt_key_padding_mask=read == PAD, memory_key_padding_mask=hidden,
        ))  # fmt: skip

    shared = ours.source_token.weight, ours.target_positions.table.weight, ours.out.weight
    got = results(lambda: ours(source, target), (), (*shared, ours.encoder.layers[0].norm1.weight))
    want = results(encoded, (), (*shared, theirs.encoder.layers[0].norm1.weight))
    torch.testing.assert_close(got, want, **EXACT)


@pytest.mark.parametrize("eps", [1e-12, 1e-5, 0.1])
@pytest.mark.peer(
    "11", "`layer_norm`, `rms_norm`", "`nn.LayerNorm`, `nn.RMSNorm`", "float64 1e-12",
    "outputs, gradients",
)  # fmt: skip
def test_norms(eps) -> None:
    x, gain, bias = (draw(*shape).requires_grad_() for shape in ((3, 5, 8), (8,), (1, 8)))
    bias = bias[0].detach().requires_grad_()
    pairs = [
        (
            lambda x, g, b: layer_norm(x, g, b, eps),
            lambda x, g, b: F.layer_norm(x, (8,), g, b, eps),
        ),
        (lambda x, g, b: rms_norm(x, g, eps) + b, lambda x, g, b: F.rms_norm(x, (8,), g, eps) + b),
    ]
    for ours, theirs in pairs:
        given = x, gain, bias
        torch.testing.assert_close(
            results(ours, given, given), results(theirs, given, given), **EXACT
        )


THEIR_NORMS = pytest.mark.parametrize(
    "kind", [modeling_llama.LlamaRMSNorm, modeling_t5.T5LayerNorm]
)


@THEIR_NORMS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.peer("11", "`rms_norm`", "Llama's and T5's norm, gains of 1", "equal", "outputs")
def test_rms_norm_in_16_bits(kind, dtype) -> None:
    x, theirs = (100 * draw(3, 5, 8)).to(dtype), kind(8, eps=1e-6).to(dtype)
    assert torch.equal(rms_norm(x, theirs.weight), theirs(x))


@THEIR_NORMS
@pytest.mark.peer(
    "11", "`rms_norm`", "the same, rounded before the gain", "float16 2e-3", "outputs"
)
def test_rms_norm_with_gains_in_16_bits(kind) -> None:
    x, theirs = (100 * draw(3, 5, 8)).half(), kind(8, eps=1e-6).half()
    theirs.weight.data = draw(8).half()
    room = 2e-3
    torch.testing.assert_close(rms_norm(x, theirs.weight), theirs(x), rtol=room, atol=room)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64], ids=str)
@pytest.mark.peer("11", "`gated_feed_forward`", "Llama's MLP", "equal", "outputs")
def test_gated_feed_forward_is_llama_s(dtype) -> None:
    config = LlamaConfig(hidden_size=WIDTH, intermediate_size=D_FF)
    theirs = modeling_llama.LlamaMLP(config).to(dtype)
    matrices = (getattr(theirs, f"{part}_proj").weight.mT for part in ("gate", "up", "down"))
    x = draw(BATCH, LENGTH, WIDTH).to(dtype)
    assert torch.equal(gated_feed_forward(x, *matrices), theirs(x))


def random_weights(theirs: nn.Module, size: float = 0.25) -> nn.Module:
    theirs = theirs.double().eval()
    for number, (name, parameter) in enumerate(theirs.named_parameters()):
        parameter.data = draw(*parameter.shape, seed=number) * size
        if parameter.dim() == 1 and name.endswith("weight"):
            parameter.data += 1
    return theirs


@MODELS
def test_layers_of_hugging_face(monkeypatch) -> None:
    monkeypatch.setattr(modeling_llama.LlamaRMSNorm, "forward", exact_norm)
    shared = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "intermediate_size": D_FF,
              "attn_implementation": "sdpa"}  # fmt: skip
    x, past = draw(BATCH, LENGTH, WIDTH), causal_mask(LENGTH, LENGTH)
    everything, places = torch.ones_like(past), torch.arange(LENGTH)

    config = BertConfig(**shared)
    theirs = random_weights(BertLayer(config, layer_idx=0))
    got = bert_layer(x, everything, Weights(theirs.state_dict()), HEADS, config.layer_norm_eps)
    torch.testing.assert_close(got, theirs(x), **EXACT)

    config = GPT2Config(n_embd=WIDTH, n_head=HEADS, n_inner=D_FF, attn_implementation="sdpa")
    theirs = random_weights(GPT2Block(config, layer_idx=0))
    got = gpt2_block(x, past, Weights(theirs.state_dict()), HEADS, config.layer_norm_epsilon)
    torch.testing.assert_close(got, theirs(x), **EXACT)

    config = LlamaConfig(**shared, num_key_value_heads=HEADS)
    theirs = random_weights(modeling_llama.LlamaDecoderLayer(config, layer_idx=0))
    rotary = modeling_llama.LlamaRotaryEmbedding(config)
    turned = exact_rotation(rotary, x, places[None])
    got = llama_layer(
        x, past, Weights(theirs.state_dict()), HEADS, config.rms_norm_eps,
        lambda heads: rope_split_halves(heads, places),
    )  # fmt: skip
    torch.testing.assert_close(got, theirs(x, position_embeddings=turned), **EXACT)


@MODELS
def test_a_whole_bert() -> None:
    config = BertConfig(
        vocab_size=TOKENS, hidden_size=WIDTH, num_attention_heads=HEADS, num_hidden_layers=3,
        intermediate_size=D_FF, max_position_embeddings=LENGTH, pad_token_id=PAD,
    )  # fmt: skip
    theirs = random_weights(BertModel(config, add_pooling_layer=False))
    tokens = torch.tensor([[4, 5, 6, 7, 8, 9], [9, 4, 8, 3, PAD, PAD]])
    mask = stream_mask(tokens, 0, "bert", PAD)
    want = theirs(tokens, attention_mask=(tokens != PAD).long()).last_hidden_state
    how = {"heads": HEADS, "eps": config.layer_norm_eps}
    torch.testing.assert_close(
        bert(tokens, mask, Weights(theirs.state_dict()), 3, **how), want, **EXACT
    )


@MODELS
def test_a_whole_t5(monkeypatch) -> None:
    monkeypatch.setattr(modeling_t5.T5LayerNorm, "forward", exact_norm)
    config = T5Config(
        vocab_size=TOKENS, d_model=WIDTH, d_kv=WIDTH // HEADS, num_heads=HEADS, d_ff=D_FF,
        num_layers=2, dropout_rate=0.0, decoder_start_token_id=PAD, pad_token_id=PAD,
        eos_token_id=None, tie_word_embeddings=False,
    )  # fmt: skip
    theirs = random_weights(T5ForConditionalGeneration(config), 0.7)
    source = torch.tensor([[4, 5, 6, 7, 8], [9, 4, 8, PAD, PAD]])
    mask = (source != PAD).long()
    ours = T5(Weights(theirs.state_dict()), theirs.config)
    target = torch.tensor([[PAD, 5, 10, 7, 4, 2], [PAD, 6, 2, 9, 9, 1]])
    want = theirs(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits
    torch.testing.assert_close(ours.logits(source, target), want, **EXACT)
    written = source.new_full((len(source), 1), PAD)
    for _ in range(9):
        new = ours.logits(source, written)[:, -1:].argmax(dim=-1)
        written = torch.cat((written, new), dim=1)
    want = theirs.generate(
        source, attention_mask=mask, max_new_tokens=9, min_new_tokens=9, do_sample=False
    )
    assert torch.equal(written, want)
    assert len(written.unique()) > 2  # and not one token again and again


def log_table(seed: int, num_words: int) -> Tensor:
    """Return the log-probabilities after each of 200 states of a toy language."""
    return (2 * draw(200, num_words, seed=seed)).log_softmax(dim=-1)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.peer("11", "`beam_search`", "all texts tried, greedy decoding", "equal", "texts")
def test_a_beam_as_wide_as_all_texts_is_exhaustive(seed, alpha) -> None:
    words, longest, start, end = 3, 4, 1, 0
    table = log_table(seed, words)

    def step(prefixes: Tensor) -> Tensor:
        state = torch.zeros(len(prefixes)).long()
        for token in prefixes.unbind(1):
            state = (state * 7 + token + 1) % 200
        return table[state]

    def score(text: tuple[int, ...]) -> float:
        before = ((start, *text[:number]) for number in range(len(text)))
        rows = [step(torch.tensor([one]))[0] for one in before]
        return (
            float(sum(row[token] for row, token in zip(rows, text, strict=True)))
            / len(text) ** alpha
        )

    texts = [
        text for n in range(1, longest + 1) for text in itertools.product(range(words), repeat=n)
        if end not in text[:-1] and (text[-1] == end or n == longest)
    ]  # fmt: skip
    best = max(texts, key=score)
    tokens, got = beam_search(step, start, end, words**longest, longest, alpha)
    assert tuple(tokens) == best
    assert got == pytest.approx(score(best), rel=1e-12)
    greedy, tokens = [start], beam_search(step, start, end, 1, longest, alpha)[0]
    while len(greedy) <= longest and greedy[1:][-1:] != [end]:
        greedy.append(int(step(torch.tensor([greedy]))[0].argmax()))
    assert tokens == greedy[1:]


@pytest.mark.peer(
    "11", "`transformer_masks`, `stream_mask`", "transformers' masks", "equal", "masks"
)
def test_masks_are_those_of_transformers() -> None:
    config = BertConfig(hidden_size=8, attn_implementation="sdpa", is_decoder=True)
    source = torch.tensor([[4, 5, 6, 7, 8], [9, 4, 8, PAD, PAD]])
    target = torch.tensor([[1, 5, 9, 7], [1, 6, 2, PAD]])
    encoder, decoder, cross = transformer_masks(source, target, PAD)
    shapes = draw(2, 5, 8), draw(2, 4, 8)
    read, wrote = source != PAD, target != PAD
    bidirectional = create_bidirectional_mask(config, shapes[0], read)
    across = create_bidirectional_mask(config, shapes[1], read, shapes[0])
    past = create_causal_mask(config, shapes[1], wrote, None)
    assert torch.equal(encoder.expand_as(bidirectional), bidirectional)
    assert torch.equal(cross.expand_as(across), across)
    assert torch.equal(decoder, past)
    assert torch.equal(stream_mask(target, 0, "gpt", PAD), past)

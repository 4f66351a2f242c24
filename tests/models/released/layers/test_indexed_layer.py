"""The indexer chooses a few keys, and only those are read."""

from functools import partial

import torch
from torch import nn

from course_utils.models import Llama
from course_utils.models.released.families.llama_config import read_design
from course_utils.models.released.layers.indexed_layer import Indexer
from course_utils.positions import rope_split_halves
from course_utils.positions.rope_table import RopeTable
from tests.models.released.families.family_folders import LATENT, LAYERS, SIZES, TOKENS

X, ASKED = torch.randn(2, 2, 9, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
MASK = torch.ones(9, 9, dtype=torch.bool).tril()
INDEX = {"index_n_heads": 8, "index_head_dim": 7}


def made() -> Indexer:
    torch.manual_seed(0)
    part = Indexer(6, 6, num_heads=3, d_index=7, d_rope=4, chosen=2).double()
    for parameter in part.parameters():
        nn.init.normal_(parameter)
    return part


def model(chosen: int) -> Llama:
    config = {"model_type": "deepseek_v32", "routed_scaling_factor": 2.5, "index_topk": chosen}
    sizes = {"d_model": 24, "num_heads": 6, "num_layers": LAYERS, "max_length": 20}
    torch.manual_seed(0)
    return Llama(TOKENS, design=read_design(config | SIZES | LATENT | INDEX), **sizes).double()


def test_the_choice_is_that_of_a_loop() -> None:
    part, places = made(), torch.arange(9)
    rotate = partial(RopeTable(4, pairing="interleaved").rotate, positions=places)
    got = part(X, ASKED, part.keys(X, rotate), MASK, rotate)
    query = part.query(ASKED).view(2, 9, 3, 7).transpose(1, 2)
    key = part.key_norm(part.key(X)).unsqueeze(1)
    query, key = (
        torch.cat((rope_split_halves(one[..., :4], places), one[..., 4:]), dim=-1)
        for one in (query, key)
    )
    for row in range(2):
        for t in range(9):
            weight = part.weight(X[row, t])
            scores = [
                sum(weight[h] * (query[row, h, t] @ key[row, 0, s]).relu() for h in range(3)).item()
                for s in range(t + 1)
            ]
            seen = [scores[s] for s in (got[row, 0, t] & MASK[t]).nonzero().flatten().tolist()]
            assert sorted(seen) == sorted(scores)[-2:]  # several may be 0, and equally good


def test_with_as_many_keys_as_tokens_nothing_is_left_out() -> None:
    tokens = torch.randint(TOKENS, (2, 9))
    few, all_of_them, more = (model(chosen).logits(tokens) for chosen in (3, 9, 50))
    torch.testing.assert_close(all_of_them, more)
    torch.testing.assert_close(few[:, :3], more[:, :3])
    assert not few[:, 3:].allclose(more[:, 3:])


def test_no_gradient_reaches_the_scorer() -> None:
    one = model(3)
    one.logits(torch.randint(TOKENS, (1, 7))).sum().backward()
    for name, weight in one.named_parameters():
        if ".experts." not in name:  # no token may have come to some
            assert (weight.grad is None) == (".indexer." in name)


def test_the_cache_holds_the_scorer_s_keys_too() -> None:
    assert model(3).new_cache(2).num_bytes == LAYERS * 2 * 20 * (10 + 4 + 7) * 8

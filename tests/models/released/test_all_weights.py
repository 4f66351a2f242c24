"""Test the weights of all heads, of models from a folder and of Hugging Face's own."""

import pytest
import torch

from course_utils.models import Llama, all_weights, from_folder
from course_utils.models.released.families.llama_design import Design
from tests.models.released.local_folders import TOKENS, saved


@pytest.mark.peer("20", "`all_weights`", "Llama, GPT-2: eager", "float64 1e-5", "weights")
@pytest.mark.parametrize("name", ["Llama", "GPT-2, tied"])
def test_weights_of_a_folder_are_those_of_hugging_faces_model(name, tmp_path) -> None:
    theirs = saved(name, tmp_path)
    theirs.set_attn_implementation("eager")
    with torch.no_grad():
        wanted = torch.cat(theirs(TOKENS[:1], output_attentions=True).attentions)
    ours = from_folder(tmp_path)
    torch.testing.assert_close(all_weights(ours, TOKENS[0]), wanted, atol=1e-5, rtol=0)
    torch.testing.assert_close(all_weights(theirs, TOKENS[0]), wanted, atol=1e-5, rtol=0)


def test_a_model_that_keeps_no_weights_is_refused(tmp_path) -> None:
    theirs = saved("Llama", tmp_path)
    theirs.set_attn_implementation("sdpa")
    with pytest.raises(ValueError, match=r'must be made with attn_implementation="eager", got'):
        all_weights(theirs, TOKENS[0])


def test_attention_of_its_own_is_refused() -> None:
    design = Design(attend=lambda _: lambda query, key, value, mask: value)
    own = Llama(9, d_model=8, num_heads=2, num_layers=1, max_length=9, design=design)
    with pytest.raises(ValueError, match="model must attend by softmax alone"):
        all_weights(own, TOKENS[0] % 9)

"""The released model with its matrices left in four bits: torch's own operator multiplies by them.

Source: the formats as in blocks.py; torch's operators _convert_weight_to_int4pack_for_cpu and
    _weight_int4pack_mm_for_cpu, which are private and may change with any version
Ours / theirs: scale, low + 8·scale = scales, zeros;  BLOCK = qGroupSize
Differs: the operator takes bfloat16 alone, so its inputs and outputs are rounded to that; the head,
    which has eight bits in the file, stays in float32
Same contract as: `from_gguf`, to the rounding of bfloat16
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_utils.models.released.gguf.blocks import BLOCK
from course_utils.models.released.gguf.gguf_file import FileTensor, GGUFFile
from course_utils.models.released.gguf.gguf_model import IN_LAYER, Released, from_gguf
from course_utils.positions import to_split_halves

PACK, MULTIPLY = "_convert_weight_to_int4pack_for_cpu", "_weight_int4pack_mm_for_cpu"
HALVES = 4  # bytes of a block before its levels: its scale and its least number, as float16


class FourBits(nn.Module):
    """A Linear whose matrix stays in blocks of four bits.

    Args:
        blocks: Those of each row, (rows, blocks, 20) bytes, as Q4_1 has them.
    """

    def __init__(self, blocks: Tensor) -> None:
        super().__init__()
        scale, low = blocks[..., :HALVES].contiguous().view(torch.float16).float().unbind(-1)
        pairs = blocks[..., HALVES:]
        levels = torch.cat((pairs & 15, pairs >> 4), dim=-1).flatten(1).int()
        # The operator reads (q - 8)·scale + zero: in groups of columns, then by rows.
        zeros = torch.stack((scale, low + 8 * scale), dim=-1)
        self.scales_and_zeros = zeros.transpose(0, 1).contiguous().bfloat16()
        self.levels = getattr(torch.ops.aten, PACK)(levels, 1)

    @property
    def num_bytes(self) -> int:
        """The bytes that a product reads."""
        return self.levels.nbytes + self.scales_and_zeros.nbytes

    def forward(self, x: Float[Tensor, "B T width_in"]) -> Float[Tensor, "B T width_out"]:
        """Return the product with each row."""
        rows = x.flatten(0, -2).bfloat16()
        multiply = getattr(torch.ops.aten, MULTIPLY)
        out: Tensor = multiply(rows, self.levels, BLOCK, self.scales_and_zeros)
        return out.to(x.dtype).view(*x.shape[:-1], -1)


def four_bit_model(file: GGUFFile) -> Released:
    """Return the model of a file with the matrices of its layers in four bits, and the tokenizer.

    Args:
        file: What `read_gguf` returns.

    Raises:
        RuntimeError: This build of torch has no such operator.
        ValueError: A matrix of a layer is not of kind Q4_1.
    """
    if not (hasattr(torch.ops.aten, PACK) and hasattr(torch.ops.aten, MULTIPLY)):
        raise RuntimeError(f"torch must have the operator {MULTIPLY}, got {torch.__version__}")
    released = from_gguf(file)
    heads = {"q": "head_count", "k": "head_count_kv"}
    for number, layer in enumerate(released.model.layers):
        roles = {role: _blocks(file, f"blk.{number}.attn_{role}.weight") for role in "qkv"}
        for role, field in heads.items():
            count = file.fields[f"llama.attention.{field}"]
            roles[role] = to_split_halves(roles[role], count, dim=0)
        layer.set_submodule("attention.in_proj", FourBits(torch.cat([*roles.values()])))
        for theirs, ours in IN_LAYER.items():
            if not theirs.endswith("norm"):
                blocks = _blocks(file, f"blk.{number}.{theirs}.weight")
                layer.set_submodule(ours, FourBits(blocks))
    return released


def _blocks(file: GGUFFile, name: str) -> Tensor:
    tensor: FileTensor = file.tensors[name]
    if tensor.kind != "Q4_1":
        raise ValueError(f"{name} must be of kind Q4_1, got {tensor.kind}")
    return tensor.data.view(tensor.shape[0], -1, tensor.data.shape[1])

"""The released model with its matrices left in four bits: torch's own operator multiplies by them.

Source: the formats as in blocks.py; torch's operators _convert_weight_to_int4pack_for_cpu and
    _weight_int4pack_mm_for_cpu, which are private and may change with any version
Ours / theirs: scale, low + 8·scale = scales, zeros;  BLOCK = qGroupSize
Differs: the operator takes bfloat16 alone, so its inputs and outputs are rounded to that; it reads
    a head of eight bits as twice four
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
        levels: Of each weight, from 0 to 15: (rows, width_in).
        scale: Of each block, (rows, blocks).
        zero: What level 8 stands for in each block, the same.
    """

    def __init__(self, levels: Tensor, scale: Tensor, zero: Tensor) -> None:
        super().__init__()
        # The operator reads (level - 8)·scale + zero: in groups of columns, then by rows.
        pairs = torch.stack((scale, zero), dim=-1)
        self.scales_and_zeros = pairs.transpose(0, 1).contiguous().bfloat16()
        self.levels = getattr(torch, PACK)(levels.int(), 1)
        self._multiply = getattr(torch, MULTIPLY)

    @property
    def num_bytes(self) -> int:
        """The bytes that a product reads."""
        return self.levels.nbytes + self.scales_and_zeros.nbytes

    def forward(self, x: Float[Tensor, "B T width_in"]) -> Float[Tensor, "B T width_out"]:
        """Return the product with each row."""
        rows = x.flatten(0, -2).bfloat16()
        out: Tensor = self._multiply(rows, self.levels, BLOCK, self.scales_and_zeros)
        return out.to(x.dtype).view(*x.shape[:-1], -1)


class TwiceFourBits(FourBits):
    """A Linear whose matrix stays in blocks of eight bits, read as two of four side by side.

    A weight d·q is 16d·h + d·l, where h and l are the high and the low four bits of q.

    Args:
        blocks: Those of each row, (rows, blocks, 34) bytes, as Q8_0 has them.
    """

    def __init__(self, blocks: Tensor) -> None:
        scale = blocks[..., :2].contiguous().view(torch.float16).float().squeeze(-1)
        whole = blocks[..., 2:].contiguous().view(torch.int8).flatten(1)
        levels = torch.cat(((whole >> 4) + 8, whole & 15), dim=-1)
        zero = torch.cat((torch.zeros_like(scale), 8 * scale), dim=-1)
        super().__init__(levels, torch.cat((16 * scale, scale), dim=-1), zero)

    def forward(self, x: Float[Tensor, "B T width_in"]) -> Float[Tensor, "B T width_out"]:
        """Return the product with each row."""
        return super().forward(torch.cat((x, x), dim=-1))


def four_bit_model(file: GGUFFile) -> Released:
    """Return the model of a file with its matrices in four and eight bits, and the tokenizer.

    The head keeps the file's eight bits; one of another kind, or whose rows are not a multiple of
    16, is in float32.

    Args:
        file: What `read_gguf` returns.

    Raises:
        RuntimeError: This build of torch has no such operator.
        ValueError: A matrix of a layer is not of kind Q4_1.
    """
    if not (hasattr(torch, PACK) and hasattr(torch, MULTIPLY)):
        raise RuntimeError(f"torch must have the operator {MULTIPLY}, got {torch.__version__}")
    released = from_gguf(file)
    heads = {"q": "head_count", "k": "head_count_kv"}
    for number, layer in enumerate(released.model.layers):
        roles = {role: _blocks(file, f"blk.{number}.attn_{role}.weight") for role in "qkv"}
        for role, field in heads.items():
            count = file.fields[f"llama.attention.{field}"]
            roles[role] = to_split_halves(roles[role], count, dim=0)
        layer.set_submodule("attention.in_proj", _from_blocks(torch.cat([*roles.values()])))
        for theirs, ours in IN_LAYER.items():
            if not theirs.endswith("norm"):
                blocks = _blocks(file, f"blk.{number}.{theirs}.weight")
                layer.set_submodule(ours, _from_blocks(blocks))
    head = file.tensors.get("output.weight", file.tensors["token_embd.weight"])
    if head.kind == "Q8_0" and head.shape[0] % 16 == 0:  # as many rows as the operator packs
        blocks = head.data.view(head.shape[0], -1, head.data.shape[1])
        released.model.set_submodule("out", TwiceFourBits(blocks))
    return released


def _from_blocks(blocks: Tensor) -> FourBits:
    """Return the product with rows of blocks (rows, blocks, 20) as Q4_1 has them."""
    scale, low = blocks[..., :HALVES].contiguous().view(torch.float16).float().unbind(-1)
    pairs = blocks[..., HALVES:]
    levels = torch.cat((pairs & 15, pairs >> 4), dim=-1).flatten(1)
    return FourBits(levels, scale, low + 8 * scale)


def _blocks(file: GGUFFile, name: str) -> Tensor:
    tensor: FileTensor = file.tensors[name]
    if tensor.kind != "Q4_1":
        raise ValueError(f"{name} must be of kind Q4_1, got {tensor.kind}")
    return tensor.data.view(tensor.shape[0], -1, tensor.data.shape[1])

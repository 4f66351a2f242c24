"""Texts that the date writer must read as Python does: what it writes, how surely, and where."""

import base64
import math
import unicodedata
from typing import Any

import numpy as np
import torch

from benchmarks.chapters.ch02.chapter_02_dates import Task, new_model
from course_utils.data import END, LOCALES, START, CharacterTokenizer, sample_dates
from course_utils.measure import read_record
from course_utils.models import Seq2Seq
from course_utils.models.released.gguf.blocks import dequantize_q8_0

RECORD = "chapter_02_writer"
LONGEST = 11
OTHER = (
    "4 de marzo de 2021", "  4.\u00a0MÄRZ 2021 ", "\u200f٤ مارس ٢٠٢١", "next Friday", "x",
    "30 February 2021", "22nd of June 2021", "13. März 2021",
    "ελληνικά", "ß þ 2021 ж", "İstanbul", "2021-03-04", "4th of March 2021", "12:30", "9" * 60,
)  # fmt: skip


def plain(text: str) -> str:
    """Return a text as the training texts are."""
    spaced = "".join(" " if unicodedata.category(sign) == "Zs" else sign for sign in text)
    kept = unicodedata.normalize("NFC", spaced).translate(dict.fromkeys((0x200E, 0x200F, 0x61C)))
    return kept.lower().strip()


def model() -> tuple[Seq2Seq, CharacterTokenizer]:
    """Return the model of the record in float64, and what numbers its characters."""
    run = read_record(RECORD)["runs"][0]
    source = CharacterTokenizer(run["alphabet"])
    made = new_model("additive", Task(64, 1), 0)
    made.encoder.embed = torch.nn.Embedding(len(source), made.encoder.embed.embedding_dim)
    kept = np.frombuffer(base64.b64decode(run["weights"]), np.uint8).copy().reshape(-1, 34)
    sizes = [math.prod(shape) for _, shape in run["layout"]]
    parts = dequantize_q8_0(torch.from_numpy(kept)).flatten()[: sum(sizes)].split(sizes)
    pairs = zip(run["layout"], parts, strict=True)
    made.load_state_dict({name: part.view(shape) for (name, shape), part in pairs})
    return made.double(), source


@torch.no_grad()
def read(made: Seq2Seq, source: CharacterTokenizer, text: str) -> dict[str, Any]:
    """Return what is written for a text, how probable it is, whole and by sign, and the weights."""
    tokens = torch.tensor([source.encode(plain(text))])
    written, weights = made.write(tokens, LONGEST)
    fed = torch.cat([torch.full((1, 1), START), written], dim=1)
    chances = made(tokens, fed)[0].softmax(-1)
    kept = [at for at, token in enumerate(written[0].tolist()) if token != END]
    signs = ["-0123456789"[token - 4] if token > END else "·" for token in written[0].tolist()]
    return {
        "text": text,
        "written": "".join(signs[at] for at in kept),
        "chance": round(float(chances.gather(1, written.mT).prod()), 6),
        "weights": weights[0][kept].mul(1e6).round().div(1e6).tolist(),
        "chances": chances.amax(-1)[kept].mul(1e6).round().div(1e6).tolist(),
    }


def cases() -> list[dict[str, Any]]:
    """A held-out date of every locale, and texts that are odd or no date at all."""
    generator = torch.Generator().manual_seed(6)
    drawn = [sample_dates(1, generator, held_out=True, locales=[name])[0] for name in LOCALES]
    made, source = model()
    dates = [{**read(made, source, date.text), "iso": date.iso} for date in drawn]
    return dates + [read(made, source, text) for text in OTHER]

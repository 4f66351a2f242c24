"""Chapter 11: a block of the encoder and one of the decoder, with the norm in front."""

from course_utils.diagrams.symbols import Diagram


def _row(d: Diagram, x: float, y: float, name: str, accent: str = "") -> None:
    """Draw norm and sublayer beside the stream at x, and the sum behind them."""
    d.arrow((x, y), (x + 26, y))
    d.box(x + 26, y - 16, 50, 32, "norm", size=13.5)
    d.arrow((x + 76, y), (x + 94, y))
    d.box(x + 94, y - 19, 92, 38, name, accent, size=13.5)
    d.arrow((x + 140, y + 19), (x + 140, y + 44), (x + 11, y + 44))
    d.join(x, y + 44, "+")


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "One layer of the encoder and one of the decoder, norms first.",
        """Two streams run downwards. Encoder, (B, S, d_model): norm, self-attention, added to the
        stream; norm, feed-forward, added. After N layers a last norm hands (B, S, d_model) to the
        decoder. Decoder, (B, L, d_model): norm, causal self-attention, added; norm,
        cross-attention, whose keys and values come from the encoder, added; norm, feed-forward,
        added. After N layers a norm and a linear layer give (B, L, symbols). With the norm behind,
        as first published, it stands after each sum, on the stream itself.""",
        452,
    )
    d.text(14, 12, "encoder, N times", bold=True, size=15)
    d.text(244, 12, "decoder, N times", bold=True, size=15)
    for x, shape, rows in (
        (16, "(B, S, d_model)", (80, 190)),
        (246, "(B, L, d_model)", (80, 190, 300)),
    ):
        d.text(x + 9, 38, shape)
        above: float = 28
        for y in rows:
            d.arrow((x, above), (x, y + 33))
            above = y + 55
        d.arrow((x, above), (x, 300 if x == 16 else 384))
    _row(d, 16, 80, "self-\nattention", "blue")
    _row(d, 16, 190, "feed-\nforward")
    _row(d, 246, 80, "causal self-\nattention", "blue")
    _row(d, 246, 190, "cross-\nattention", "orange")
    _row(d, 246, 300, "feed-\nforward")
    d.box(6, 300, 80, 32, "norm", size=13.5)
    d.arrow((86, 316), (224, 316), (224, 150), (386, 150), (386, 171), accent="orange")
    d.text(94, 334, "K, V:\n(B, S, d_model)")
    d.box(236, 384, 150, 32, "norm, linear", size=13.5)
    d.arrow((311, 416), (311, 436))
    d.text(320, 440, "(B, L, symbols)")
    return d

"""Chapter 13: the residual stream, from which heads read and to which they add."""

from course_utils.diagrams.symbols import Diagram


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "The stream: every head reads it and adds to it; nothing else connects them.",
        """Tokens are embedded into a stream, (L, d_model). In layer 1, two heads read the stream
        through W_Q, W_K and W_V, (L, d_k), and add their output to it through W_O, (L, d_model).
        The heads of layer 2 read the sum, so also what a head of layer 1 wrote. At the end the
        stream is unembedded to one score per symbol, (L, symbols).""",
        416,
    )
    d.text(60, 10, "tokens (L)", "middle")
    d.arrow((60, 20), (60, 40))
    d.box(10, 40, 100, 32, "embed")
    d.box(46, 72, 28, 270, "", "blue")
    d.text(60, 207, "x", "middle", 15)
    rows = ((112, "1", "head 0", "blue"), (172, "", "head 1", "blue"),
            (242, "2", "head 0", "orange"), (302, "", "head 1", "blue"))  # fmt: skip
    for y, layer, name, accent in rows:
        d.arrow((74, y - 9), (252, y - 9), label=layer and "reads: W_Q, W_K, W_V", side="above")
        d.arrow((252, y + 9), (74, y + 9), label=layer and "adds: W_O", side="below")
        d.box(252, y - 18, 90, 36, name, accent)
        d.text(352, y, "(L, d_k)")
    d.text(352, 86, "layer 1", bold=True)
    d.text(352, 216, "layer 2", bold=True)
    d.text(352, 272, "reads what\nthose added")
    d.arrow((60, 342), (60, 362), label="(L, d_model)")
    d.box(10, 362, 100, 32, "unembed")
    d.arrow((110, 378), (160, 378))
    d.text(168, 378, "(L, symbols)")
    return d

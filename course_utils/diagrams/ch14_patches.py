"""Chapter 14: an image becomes a sequence of tokens."""

from course_utils.diagrams.symbols import Diagram


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "A Vision Transformer: an image is cut into tokens, then all is as before.",
        """An image, (B, C, h, w), is cut into N = hw/p² patches. Each is flattened to C p² numbers,
        (B, N, C p²), and projected to the stream's width, (B, N, d_model). A class token is put in
        front and a position is added to each, (B, N + 1, d_model). Blocks of self-attention
        without a mask follow. The class token's last state, (B, d_model), gives the scores of the
        classes.""",
        436,
    )
    d.table(14, 12, ["bbbboooo"] * 4 + ["oooobbbb"] * 4, 15)
    for line in (0, 60, 120):
        d.arrow((14 + line, 12), (14 + line, 132), head=False)
        d.arrow((14, 12 + line), (134, 12 + line), head=False)
    d.text(74, 146, "image (B, C, h, w)", "middle")
    d.arrow((144, 72), (292, 72), label="cut, flatten", side="above")
    d.text(218, 90, "(B, N, C p²)", "middle")
    for number in range(4):
        d.table(304, 16 + 30 * number, ["boob"[number] * 8], 15)
    d.text(364, 146, "N = hw/p² patches", "middle")
    d.arrow((364, 158), (364, 184))
    d.box(292, 184, 144, 34, "× W_e + b_e", "blue")
    d.arrow((292, 201), (160, 201), label="(B, N, d_model)", side="above")
    d.box(4, 184, 156, 34, "class token in front", size=13.5)
    d.arrow((82, 218), (82, 250), label="(B, N + 1, d_model)")
    d.box(4, 250, 156, 34, "+ positions", "blue")
    d.arrow((82, 284), (82, 322), label="(B, N + 1, d_model)")
    d.box(4, 322, 156, 40, "blocks, no mask", "orange", behind=2)
    d.arrow((170, 342), (308, 342), label="class token", side="above")
    d.text(239, 360, "(B, d_model)", "middle")
    d.box(308, 324, 110, 36, "linear")
    d.arrow((363, 360), (363, 392))
    d.text(363, 408, "(B, classes)", "middle")
    return d

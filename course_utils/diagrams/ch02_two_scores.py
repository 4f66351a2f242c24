"""Chapter 02: the additive score, a small network, beside the bilinear one."""

from course_utils.diagrams.symbols import Diagram


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "Two ways to score one pair of a query and a key.",
        """Left, additive: the query of width d_q passes through W_q, the key of width d_k through
        W_k, both to width d_a; they are added, a tanh follows, and v makes one number of d_a.
        Right, bilinear (general): the query passes through W, from d_q to d_k, and meets the key
        in a dot product, one number. Without W, and with d_q = d_k, that is the dot score.""",
        336,
    )
    d.text(105, 10, "additive", "middle", 15, bold=True)
    d.text(335, 10, "bilinear", "middle", 15, bold=True)
    for x, name, width, matrix, side in (
        (50, "q_t", "d_q", "W_q", "left"),
        (160, "k_i", "d_k", "W_k", "right"),
    ):
        d.text(x, 36, name, "middle", 15)
        d.arrow((x, 48), (x, 80), label=width, side=side)
        d.box(x - 32, 80, 64, 32, matrix, "blue")
        d.arrow(
            (x, 112), (x, 150), (105 + (11 if x > 105 else -11), 150), label="d_a", side=side, leg=0
        )
    d.join(105, 150, "+")
    d.arrow((105, 161), (105, 192), label="d_a")
    d.box(65, 192, 80, 32, "tanh")
    d.arrow((105, 224), (105, 252), label="d_a")
    d.box(65, 252, 80, 32, "· v", "blue")
    d.text(280, 36, "q_t", "middle", 15)
    d.arrow((280, 48), (280, 80), label="d_q", side="left")
    d.box(248, 80, 64, 32, "W", "blue")
    d.arrow((280, 112), (280, 150), (324, 150), label="d_k", side="left", leg=0)
    d.text(390, 36, "k_i", "middle", 15)
    d.arrow((390, 48), (390, 150), (346, 150), label="d_k")
    d.join(335, 150, "·")
    for x, from_y in ((105, 284), (335, 161)):
        d.arrow((x, from_y), (x, 308), label="1")
        d.text(x, 320, "score e_ti", "middle", 15)
    return d

"""Chapter 03: from queries, keys and values to the output."""

from course_utils.diagrams.symbols import Diagram


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "Scaled dot-product attention, with the shape on every arrow.",
        """Queries Q, (L, d_k), and keys K, (S, d_k), go into the product of Q and K transposed:
        scores, (L, S). They are multiplied by 1/√d_k, a mask puts −∞ where a query may not look,
        and a softmax turns each row into weights, (L, S), that sum to 1. The weights times the
        values V, (S, d_v), give the output, (L, d_v).""",
        438,
    )
    for x, name in ((32, "Q"), (132, "K"), (312, "V")):
        d.box(x, 4, 76, 32, name, "blue")
    d.arrow((70, 36), (70, 80), label="(L, d_k)", side="left")
    d.arrow((170, 36), (170, 80), label="(S, d_k)")
    steps = (
        (80, "Q Kᵀ", "scores (L, S)"),
        (142, "× 1/√d_k", "(L, S)"),
        (204, "mask: −∞", "(L, S)"),
        (266, "softmax", "weights (L, S),\neach row sums to 1"),
    )
    for y, name, shape in steps:
        d.box(40, y, 160, 34, name, dashed=name.startswith("mask"))
        d.arrow((120, y + 34), (120, y + (78 if "each" in shape else 62)), label=shape)
    d.box(40, 344, 160, 34, "weights · V", "orange")
    d.arrow((350, 36), (350, 361), (200, 361), label="(S, d_v)")
    d.arrow((120, 378), (120, 412), label="(L, d_v)")
    d.text(120, 426, "out", "middle", 15)
    d.text(207, 221, "where a query\nmay not look")
    return d

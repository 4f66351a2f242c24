"""Chapter 04: one input, three projections."""

from course_utils.diagrams.symbols import Diagram


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "One input, three roles.",
        """A stream x, (L, d_model), is multiplied by three matrices. W_Q makes queries, (L, d_k),
        W_K makes keys, (S, d_k), and W_V values, (S, d_v); with one sequence S = L. Attention turns
        the three into (L, d_v). If another sequence answers, its S rows go into W_K and W_V.""",
        338,
    )
    d.box(10, 4, 130, 34, "x", "blue")
    d.box(232, 4, 198, 34, "x, or another sequence", "blue")
    d.arrow((75, 38), (75, 94), label="(L, d_model)")
    d.arrow((331, 38), (331, 66), label="(S, d_model)", head=False)
    d.arrow((331, 66), (265, 66), (265, 94))
    d.arrow((331, 66), (385, 66), (385, 94))
    d.arrow((140, 21), (232, 21), label="S = L", side="above", dashed=True)
    columns = (
        (75, "W_Q", "(L, d_k)", "Q"), (265, "W_K", "(S, d_k)", "K"), (385, "W_V", "(S, d_v)", "V"),
    )  # fmt: skip
    for x, matrix, shape, name in columns:
        d.box(x - 40, 94, 80, 34, matrix, "orange")
        d.arrow((x, 128), (x, 168), label=shape, side="left" if x > 300 else "right")
        d.box(x - 40, 168, 80, 34, name)
        d.arrow((x, 202), (x, 236))
    d.box(35, 236, 390, 40, "softmax(Q Kᵀ / √d_k) V")
    d.arrow((230, 276), (230, 312), label="(L, d_v)")
    d.text(230, 326, "out", "middle", 15)
    return d

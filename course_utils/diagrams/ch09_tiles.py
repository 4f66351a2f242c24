"""Chapter 09: the two memories, and the tiles that pass between them."""

from course_utils.diagrams.symbols import Diagram


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "Tiles: what is large stays outside, the table of scores never exists.",
        """The large, slow memory holds Q, (L, d_k), K, (S, d_k), V, (S, d_v), and the output,
        (L, d_v). A tile of queries, (B_q, d_k), is brought to the small, fast memory on the
        chip, then one tile of keys and values, (B_k, d_k) and (B_k, d_v), after another.
        There a tile of scores, (B_q, B_k), updates each row's maximum m, its sum l and the
        weighted values acc, (B_q, d_v). At the end acc / l is written once.""",
        424,
    )
    d.box(4, 4, 432, 136)
    d.text(14, 20, "HBM: large and slow", bold=True)
    names = ((44, "Q", "blue"), (150, "K", "orange"), (222, "V", "orange"), (395, "out", "blue"))
    for x, name, accent in names:
        row = 1 if accent == "blue" else 2
        d.text(x + 15, 44, name, "middle", 15)
        d.table(x, 56, [accent[0] * 2 if at == row else ".." for at in range(5)], 15)
    d.box(4, 214, 432, 206)
    d.text(14, 404, "on the chip: small and fast", bold=True)
    d.arrow((59, 132), (59, 240), label="(B_q, d_k)\nstays", leg=0)
    d.arrow((165, 132), (165, 168), (201, 168), (201, 240), head=True)
    d.arrow((237, 132), (237, 168), (201, 168), head=False)
    d.text(246, 178, "(B_k, d_k),\n(B_k, d_v),\none tile at a time")
    d.box(20, 240, 214, 36, "scores of one tile")
    d.arrow((127, 276), (127, 318), label="(B_q, B_k)")
    d.box(20, 318, 214, 36, "update m, l and acc", "blue")
    d.arrow((234, 336), (410, 336), (410, 132), label="acc / l: (B_q, d_v)", side="below", leg=0)
    d.text(322, 374, "written once", "middle")
    return d

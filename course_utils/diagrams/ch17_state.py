"""Chapter 17: a state of fixed size fades, is written to, and is read."""

from course_utils.diagrams.symbols import Diagram


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "Fade, write, read: a memory of the same size after every token.",
        """The state S_t−1 of d_k by d_v numbers is multiplied by γ: it fades. The token's key,
        (d_k), and value, (d_v), are multiplied to a table k vᵀ, (d_k, d_v), which is added: that
        writes. The new state S_t is kept for the next token, and the query, (d_k), reads it: qᵀ S_t
        is the output, (d_v).""",
        330,
    )
    d.text(160, 10, "k_t", "middle", 15)
    d.text(310, 10, "v_t", "middle", 15)
    d.arrow((160, 22), (160, 50), label="(d_k)", side="left")
    d.arrow((310, 22), (310, 50), label="(d_v)")
    d.box(130, 50, 210, 36, "k_t v_tᵀ", "blue")
    d.text(352, 68, "write", bold=True)
    d.arrow((235, 86), (235, 147), label="(d_k, d_v)")
    d.box(4, 134, 84, 48, "S_t−1")
    d.arrow((88, 158), (118, 158))
    d.box(118, 138, 62, 40, "× γ", "orange")
    d.text(149, 194, "fade", "middle", bold=True)
    d.arrow((180, 158), (224, 158))
    d.join(235, 158, "+")
    d.arrow((246, 158), (286, 158))
    d.box(286, 134, 84, 48, "S_t")
    d.arrow((370, 158), (436, 158), label="next\ntoken", side="above", dashed=True)
    d.text(46, 194, "(d_k, d_v)", "middle")
    d.arrow((328, 182), (328, 232), label="(d_k, d_v)")
    d.box(243, 232, 170, 36, "q_tᵀ S_t", "blue")
    d.text(200, 228, "read", bold=True)
    d.text(120, 250, "q_t", "end", 15)
    d.arrow((130, 250), (243, 250), label="(d_k)", side="below")
    d.arrow((328, 268), (328, 302), label="(d_v)")
    d.text(328, 318, "out_t", "middle", 15)
    return d

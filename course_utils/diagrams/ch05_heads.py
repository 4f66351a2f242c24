"""Chapter 05: split into heads, attend, merge."""

from course_utils.diagrams.symbols import Diagram


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "Multi-head attention: cut the width, attend in each head, merge.",
        """The stream x, (B, L, d_model), is projected to queries, keys and values of the same
        shape. Each is cut into H heads, (B, L, H, d_k), and transposed to (B, H, L, d_k). Every
        head attends on its own. The outputs are merged again, (B, L, d_model), and W_O mixes them.
        At the side, 3 positions of 6 channels: two heads own 3 channels of every position each.""",
        478,
    )
    steps = (
        (4, "x", "(B, L, d_model)"),
        (70, "W_Q, W_K, W_V", "(B, L, d_model), three times"),
        (136, "cut", "(B, L, H, d_k)"),
        (202, "transpose", "(B, H, L, d_k)"),
        (276, "attention", "(B, H, L, d_k)"),
        (342, "merge", "(B, L, d_model)"),
        (408, "W_O", "(B, L, d_model)"),
    )
    for y, name, shape in steps:
        heads = name == "attention"
        accent = "blue" if name[0] in "xW" else "orange" if heads else ""
        d.box(10, y, 150, 34, name, accent, behind=3 if heads else 0)
        tip = y + (66 if name != "transpose" else 59)
        d.arrow((85, y + 34), (85, tip), label=shape)
    d.text(178, 293, "H times")
    d.table(312, 128, ["bbbooo"] * 3, 19)
    d.text(369, 118, "d_model", "middle")
    d.text(306, 156, "L", "end")
    d.table(312, 222, ["bbb"] * 3, 19)
    d.table(378, 222, ["ooo"] * 3, 19)
    d.text(340, 212, "d_k", "middle")
    d.text(406, 212, "d_k", "middle")
    d.text(340, 292, "head 0", "middle")
    d.text(406, 292, "head 1", "middle")
    d.arrow((369, 188), (369, 202))
    d.table(312, 340, ["bbbooo"] * 3, 19)
    d.arrow((369, 303), (369, 334))
    return d

"""Chapter 01: an encoder and a decoder with one vector between them."""

from course_utils.diagrams.symbols import Diagram

PLACES = (38, 132, 222, 312)


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "Encoder and decoder: all that is read passes through one vector.",
        """Above, the encoder: a recurrent step reads x_1, x_2 and so on to x_S, each of shape
        (B, d_in), and hands its state of shape (B, d_h) to the next. The last state is the context
        c, (B, d_h), however large S is. Below, the decoder starts from c and writes y_1 to y_T.""",
        282,
    )
    for above, names, label in ((46, "12…S", "encoder"), (196, "12…T", "decoder")):
        middle = above + 18
        for number, (x, name) in enumerate(zip(PLACES, names, strict=True)):
            if name == "…":
                d.text(x, middle, "…", "middle", 20)
            else:
                d.box(x - 30, above, 60, 36, "step")
            if number:
                gap = 30 if name != "…" else 14
                back = 30 if number != 3 else 14
                d.arrow((PLACES[number - 1] + back, middle), (x - gap, middle))
        d.text(438, middle, label, "end", bold=True)
    for x, name in zip(PLACES, "12…S", strict=True):
        if name != "…":
            d.text(x, 10, f"x_{name}", "middle", 15)
            d.arrow((x, 22), (x, 46), label="(B, d_in)" if name == "1" else "")
    for x, name in zip(PLACES, "12…T", strict=True):
        if name != "…":
            d.arrow((x, 232), (x, 256), label="(B, symbols)" if name == "T" else "")
            d.text(x, 270, f"y_{name}", "middle", 15)
    d.arrow((312, 82), (312, 112), label="(B, d_h)", side="left")
    d.box(247, 112, 130, 40, "context c", "orange")
    d.arrow(
        (247, 132), (38, 132), (38, 196), label="(B, d_h), however large S", side="above", leg=0
    )
    return d

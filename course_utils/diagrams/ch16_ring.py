"""Chapter 16: queries stay, keys and values go round."""

from course_utils.diagrams.symbols import Diagram


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "Ring attention: queries stay, keys and values travel.",
        """Four ranks in a ring, each with n/P tokens. Rank r keeps its queries Q_r,
        (B, H, n/P, d_k), and begins with its own block of keys and values. After each step it hands
        the block that it holds, (B, H_kv, n/P, d_k) twice, to rank r + 1; the last rank hands to
        rank 0. After P − 1 rotations every query has met every key, and each rank joins what the
        blocks gave: out_r, (B, H, n/P, d_v).""",
        332,
    )
    places = ((8, 8), (276, 8), (276, 214), (8, 214))
    for rank, (x, y) in enumerate(places):
        d.box(x, y, 156, 92)
        d.text(x + 78, y + 16, f"rank {rank}", "middle", 15, bold=True)
        d.box(x + 10, y + 32, 136, 26, f"Q_{rank} stays", "blue", size=13.5)
        d.box(x + 10, y + 62, 136, 26, f"K_{rank}, V_{rank} travel", "orange", size=13.5)
    d.arrow((164, 54), (276, 54), accent="orange", label="K, V", side="above")
    d.arrow(
        (354, 100), (354, 214), accent="orange", label="(B, H_kv,\nn/P, d_k)\ntwice", side="right"
    )
    d.arrow((276, 260), (164, 260), accent="orange", label="K, V", side="above")
    d.arrow((86, 214), (86, 100), accent="orange", label="K, V", side="left")
    d.text(220, 148, "P = 4 steps, P − 1 rotations:\nevery query meets every key", "middle", 15)
    d.text(220, 182, "out_r: (B, H, n/P, d_v)", "middle")
    return d

"""Chapter 10: prefill, decoding, and the pages of the cache between them."""

from course_utils.diagrams.symbols import Diagram


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "Prefill writes the cache; each step of decoding adds one column and reads all.",
        """Prefill reads the n tokens of the prompt at once, (B, n, d), and writes keys and values,
        (B, H_kv, n, d_k), to a cache of pages with four slots each. A step of decoding reads one
        token, (B, 1, d), writes its own key and value, (B, H_kv, 1, d_k), to the next free slot,
        and its query, (B, H, 1, d_k), attends to all n + 1 slots. What comes out, (B, 1, d),
        chooses the next token, which is read in the next step.""",
        424,
    )
    d.text(86, 10, "prompt, n = 6 tokens", "middle")
    d.arrow((86, 20), (86, 56), label="(B, n, d)")
    d.box(6, 56, 160, 36, "prefill", "blue")
    d.arrow((86, 92), (86, 176), label="K, V:\n(B, H_kv,\nn, d_k)")
    d.text(346, 10, "1 token", "middle")
    d.arrow((346, 20), (346, 56), label="(B, 1, d)", side="left")
    d.box(286, 56, 120, 36, "decode", "orange")
    d.arrow((314, 92), (314, 156), (202, 156), (202, 176))
    d.text(307, 122, "k, v:\n(B, H_kv, 1, d_k)", "end")
    for page in range(3):
        slots = "bbbbbbo....."[4 * page : 4 * page + 4]
        d.table(6 + 126 * page, 176, [slots] * 2, 28)
        d.text(62 + 126 * page, 246, f"page {page}", "middle")
    d.arrow((188, 258), (188, 296), label="n + 1 keys and values")
    d.box(84, 296, 208, 38, "attention")
    d.arrow((392, 92), (392, 315), (292, 315))
    d.text(300, 336, "q: (B, H, 1, d_k)")
    d.arrow((188, 334), (188, 376), label="(B, 1, d)")
    d.box(84, 376, 208, 36, "next token")
    d.arrow((292, 394), (428, 394), (428, 74), (406, 74), dashed=True)
    d.text(300, 412, "read next")
    return d

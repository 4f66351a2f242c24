"""Chapter 08: what each query may read, in five ways, and heads that share keys."""

from course_utils.diagrams.symbols import Diagram

ALL = ["b" * (row + 1) + "." * (7 - row) for row in range(8)]
WINDOW = [
    "b.......",
    "bb......",
    "bbb.....",
    ".bbb....",
    "..bbb...",
    "...bbb..",
    "....bbb.",
    ".....bbb",
]
SINKS = [*WINDOW[:3], *("o" + row[1:] for row in WINDOW[3:])]
PATTERN = [
    "b.......",
    "bb......",
    "bbb.....",
    "bbbb....",
    "...ob...",
    "...obb..",
    "...obbb.",
    "...obbbb",
]
CHOSEN = [
    "o.......",
    "oo......",
    ".o......",
    "oo.o....",
    "..o.....",
    "..o.o...",
    ".o...o..",
    "o..o..o.",
]


def draw() -> Diagram:
    """Return the diagram."""
    d = Diagram(
        "What one query reads, and what one key serves.",
        """Five tables of queries by keys. All earlier keys: n² / 2 pairs. A window of w keys:
        n · w pairs. A window and the first keys. Fixed blocks and every block's last key. Keys that
        the content chooses. Last, four query heads: in pairs they share one head of keys and
        values, so that H_kv = 2 are kept of H = 4, and every pair of query and key is still
        scored.""",
        348,
    )
    tables = (
        (4, 24, "all earlier", "n²/2 pairs", ALL),
        (168, 24, "window of w", "n · w pairs", WINDOW),
        (332, 24, "with sinks", "n · (w + 1)", SINKS),
        (4, 206, "fixed pattern", "n · √n pairs", PATTERN),
        (168, 206, "chosen keys", "n · k pairs", CHOSEN),
    )
    for x, y, name, cost, rows in tables:
        d.text(x + 52, y - 12, name, "middle", bold=True)
        d.table(x, y, rows, 13)
        d.text(x + 52, y + 118, cost, "middle")
    d.text(384, 194, "shared heads", "middle", bold=True)
    for head in range(4):
        x = 334 + 26 * head
        d.box(x, 210, 22, 26, str(head), size=13.5)
        d.arrow((x + 11, 236), (359 + 52 * (head // 2), 274))
    for group in range(2):
        d.box(337 + 52 * group, 274, 44, 28, "K, V", "orange", size=13.5)
    d.text(384, 324, "H_kv of H kept", "middle")
    return d

"""What goes wrong with the units of an intensity: bytes, bits, numbers, and which per which."""

from course_utils.exercises.ch04_queries_keys_values._intensity_mistakes import build, mistake

UNITS = (
    mistake(
        "numbers instead of bytes",
        build(bytes_of=lambda read, written, size: read + written),
        "The work is divided by how many numbers move, not by their bytes. Where does "
        "`bytes_per_element` act?",
        also=(
            build(bytes_of=lambda read, written, size: read * size + written),
            build(bytes_of=lambda read, written, size: read + written * size),
        ),
    ),
    mistake(
        "a fixed number of bytes",
        build(bytes_of=lambda read, written, size: (read + written) * 4),
        "The bytes of one number do not follow `bytes_per_element`. Which size was written as a "
        "number?",
        also=(
            build(bytes_of=lambda read, written, size: (read + written) * 2),
            build(bytes_of=lambda read, written, size: read * size + written * 4),
            build(bytes_of=lambda read, written, size: read * size + written * 2),
            build(bytes_of=lambda read, written, size: (read + written) * 8),
        ),
    ),
    mistake(
        "bits instead of bytes",
        build(bytes_of=lambda read, written, size: (read + written) * size * 8),
        "The intensity is eight times too low. How many bits has a byte, and which of the two is "
        "asked for?",
        also=(build(bytes_of=lambda read, written, size: (read + written) * size / 8),),
    ),
    mistake(
        "bytes multiplied into the work",
        build(
            bytes_of=lambda read, written, size: (read + written) / size,
        ),
        "Larger numbers raise the intensity here. If each number has more bytes, do more or fewer "
        "operations come to a byte?",
        also=(
            lambda L, S, d, size, counted: (
                2 * L * S * d / ((L + S) * d + (L * S if counted else 0)) * size * size
            ),
        ),
    ),
    mistake(
        "bytes per operation",
        build(finish=lambda work, moved: moved / work),
        "The fraction is upside down: these are bytes per operation. Which of the two is divided "
        "by which?",
    ),
    mistake(
        "no FLOP per byte",
        build(finish=lambda work, moved: float(work)),
        "This is no FLOP per byte: the operations alone, the bytes alone, or another unit. An "
        "intensity is one divided by the other.",
        also=(
            build(finish=lambda work, moved: float(moved)),
            build(finish=lambda work, moved: float(work * moved)),
            build(finish=lambda work, moved: float(work - moved)),
            build(finish=lambda work, moved: work / moved / 1e9),
            build(finish=lambda work, moved: work / moved / 1e12),
        ),
    ),
    mistake(
        "bytes per element squared",
        build(bytes_of=lambda read, written, size: (read + written) * size**2),
        "The bytes of one number count twice over. What reads or writes one number moves how many "
        "bytes?",
    ),
    mistake(
        "the output instead of the inputs",
        lambda L, S, d, size, counted: 2 * L * S * d / (size * (L * S if counted else (L + S) * d)),
        "With the output counted, the inputs no longer are. Which bytes move in all?",
    ),
    mistake(
        "bytes multiplied where they add",
        build(bytes_of=lambda read, written, size: read * (written or 1) * size),
        "The bytes of two tensors were multiplied with each other. What do both move together?",
        also=(
            build(inputs=lambda L, S, d: L * d * S * d),
            lambda L, S, d, size, counted: (
                2 * L * S * d / (L * d * size * S * d * size + (L * S * size if counted else 0))
            ),
        ),
    ),
    mistake(
        "brackets forgotten",
        lambda L, S, d, size, counted: 2 * L * S * d / (L + S) * d * size,
        "The last factors multiply instead of dividing: `a / b * c` is `(a / b) * c`. Which "
        "factors belong under the fraction?",
        also=(
            lambda L, S, d, size, counted: (
                2 * L * S * d / size * (L * d + S * d + (L * S if counted else 0))
            ),
            lambda L, S, d, size, counted: (
                2 * L * S * d / (L * d + S * d) / size + (L * S * size if counted else 0)
            ),
            lambda L, S, d, size, counted: (
                2 * L * S * d / (L * d + S * d) / size - (L * S * size if counted else 0)
            ),
            lambda L, S, d, size, counted: (
                2 * L * S * d / L * d + S * d + (L * S if counted else 0)
            ),
        ),
    ),
    mistake(
        "rounded",
        build(finish=lambda work, moved: float(work // moved)),
        "Digits were lost: the result is rounded or cut. An intensity is seldom whole; which "
        "division keeps its fraction?",
        also=(
            build(finish=lambda work, moved: work // moved),
            build(finish=lambda work, moved: round(work / moved)),
            build(finish=lambda work, moved: round(work / moved, 1)),
            build(finish=lambda work, moved: round(work / moved, 2)),
            build(finish=lambda work, moved: round(work / moved, 3)),
            build(finish=lambda work, moved: round(work / moved, 4)),
        ),
    ),
)

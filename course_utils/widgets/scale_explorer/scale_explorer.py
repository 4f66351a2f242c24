"""The picture of chapter 03: what d_k and temperature do to scores, weights and gradient."""

from course_utils.widgets.traits import CourseWidget, Flag, Number, PowerOfTwo, Whole


class ScaleExplorer(CourseWidget, page="scale_explorer"):
    """The widget that ``scale_explorer`` makes; its traits follow the sliders."""

    d_k = PowerOfTwo(4, 1, 1024, help="Width of a query and a key.")
    temperature = Number(1.0, 0.1, 10, help="What the scores are divided by.")
    scaled = Flag(False, help="Whether scores are divided by sqrt(d_k).")
    num_keys = Whole(16, 2, 32, help="How many keys a query sees.")
    seed = Whole(12, 0, 2**31 - 1, help="The draw; the same seed gives the same picture.")

    def __repr__(self) -> str:
        return (
            f"ScaleExplorer(d_k={self.d_k}, temperature={self.temperature:g}, "
            f"scaled={self.scaled}, num_keys={self.num_keys}, seed={self.seed})"
        )


def scale_explorer(
    *,
    d_k: int = 4,
    temperature: float = 1.0,
    scaled: bool = False,
    num_keys: int = 16,
    seed: int = 12,
) -> ScaleExplorer:
    """Show what happens to softmax attention as d_k grows, with and without 1/sqrt(d_k).

    Queries and keys are standard normals, drawn in the page.

    Args:
        d_k: A power of two from 1 to 1024.
        temperature: From 0.1 to 10.
        scaled: True divides the scores by sqrt(d_k).
        num_keys: From 2 to 32.
        seed: From 0 to 2**31 - 1. The default is a draw in which the first query's weights sharpen
            at every step of d_k; "Draw again" shows others.
    """
    return ScaleExplorer(
        d_k=d_k, temperature=temperature, scaled=scaled, num_keys=num_keys, seed=seed
    )

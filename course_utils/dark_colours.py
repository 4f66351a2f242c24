"""Colours of figures on a dark page, each in place of a light page's.

Greys turn around, white to the page's dark and ink to its light text; the style's four colours
become lighter ones of the same names. All other colours are values of a scale, and stay.
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np

from course_utils.plotting import COLOURS, INK

DARK_INK, DARK_PAPER = "#CED6DD", "#14171B"  # text and ground of the site's dark pages
SEEN = 3.0  # contrast of a line with its ground: WCAG 2.2, "non-text contrast"
DARK_COLOURS = {"blue": "#56B4E9", "orange": "#E6701E", "green": "#1FB28A", "pink": "#CC79A7"}
_SWAPPED = {
    colour.lower(): mpl.colors.to_rgb(DARK_COLOURS[name]) for name, colour in COLOURS.items()
}

Colour = tuple[float, float, float, float]


def swapped(colour: Any, line: bool = False) -> Colour:
    """Return the dark page's colour for a light page's, with its opacity.

    Args:
        colour: Any that matplotlib knows.
        line: Whether a line or a text is drawn in it. One in a scale's dark end is mixed with ink
            until it can be seen.
    """
    red, green, blue, opacity = mpl.colors.to_rgba(colour)
    paper, ink = (np.array(mpl.colors.to_rgb(name)) for name in (DARK_PAPER, DARK_INK))
    found = _SWAPPED.get(mpl.colors.to_hex((red, green, blue)), (red, green, blue))
    if red == green == blue:
        share = min((1 - red) / (1 - mpl.colors.to_rgb(INK)[0]), 1.0)  # 0 on paper, 1 for ink
        found = tuple((paper + share * (ink - paper)).tolist())
    elif line:
        mixed = (found + share * (ink - found) for share in np.linspace(0, 1, 21))
        found = tuple(next(mix for mix in mixed if contrast(mix, paper) >= SEEN).tolist())
    return (*found, opacity)


def contrast(first: Any, second: Any) -> float:
    """Return the contrast ratio of two colours, between 1 and 21.

    Source: WCAG 2.2, "contrast ratio" and "relative luminance".
    """
    high, low = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Any) -> float:
    values = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])

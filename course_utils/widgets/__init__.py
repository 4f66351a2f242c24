"""The course's interactive pictures.

They are imported with this package and not on first use: each function has the name of its file,
and an import of the file later would put the module in the function's place.
"""

from course_utils.widgets.alignment_explorer import AlignmentExplorer, alignment_explorer
from course_utils.widgets.heatmap import Heatmap, heatmap
from course_utils.widgets.heatmap_figure import heatmap_figure
from course_utils.widgets.length_explorer import LengthExplorer, length_explorer
from course_utils.widgets.scale_explorer import ScaleExplorer, scale_explorer

__all__ = [
    "AlignmentExplorer",
    "Heatmap",
    "LengthExplorer",
    "ScaleExplorer",
    "alignment_explorer",
    "heatmap",
    "heatmap_figure",
    "length_explorer",
    "scale_explorer",
]

"""The course's interactive pictures.

They are imported with this package and not on first use: each function has the name of its file,
and an import of the file later would put the module in the function's place.
"""

from course_utils.widgets.alignment_explorer.alignment_explorer import (
    AlignmentExplorer,
    alignment_explorer,
)
from course_utils.widgets.budget_explorer.budget_explorer import BudgetExplorer, budget_explorer
from course_utils.widgets.claim_ledger.claim_ledger import ClaimLedger, claim_ledger
from course_utils.widgets.cost_explorer.cost_explorer import CostExplorer, cost_explorer
from course_utils.widgets.date_writer.date_writer import DateWriter, date_writer
from course_utils.widgets.decode_stepper.decode_stepper import DecodeStepper, decode_stepper
from course_utils.widgets.explanation_graph.explanation_graph import (
    ExplanationGraph,
    explanation_graph,
)
from course_utils.widgets.extrapolation_explorer.extrapolation_explorer import (
    ExtrapolationExplorer,
    extrapolation_explorer,
)
from course_utils.widgets.forward_pass.forward_pass import ForwardPass, forward_pass
from course_utils.widgets.head_grid.head_grid import HeadGrid, head_grid
from course_utils.widgets.heatmap.heatmap import Heatmap, heatmap
from course_utils.widgets.hopfield_landscape.hopfield_landscape import (
    HopfieldLandscape,
    hopfield_landscape,
)
from course_utils.widgets.length_explorer.length_explorer import LengthExplorer, length_explorer
from course_utils.widgets.look_stepper.look_stepper import LookStepper, look_stepper
from course_utils.widgets.mask_playground.mask_playground import MaskPlayground, mask_playground
from course_utils.widgets.next_token_explorer.next_token_explorer import (
    NextTokenExplorer,
    next_token_explorer,
)
from course_utils.widgets.overwriting_stepper.overwriting_stepper import (
    OverwritingStepper,
    overwriting_stepper,
)
from course_utils.widgets.patch_explorer.patch_explorer import PatchExplorer, patch_explorer
from course_utils.widgets.projection_toy.projection_toy import ProjectionToy, projection_toy
from course_utils.widgets.ring_stepper.ring_stepper import RingStepper, ring_stepper
from course_utils.widgets.rope_clock.rope_clock import RopeClock, rope_clock
from course_utils.widgets.scale_explorer.scale_explorer import ScaleExplorer, scale_explorer
from course_utils.widgets.speculation_explorer.speculation_explorer import (
    SpeculationExplorer,
    speculation_explorer,
)
from course_utils.widgets.state_explorer.state_explorer import StateExplorer, state_explorer
from course_utils.widgets.tile_stepper.tile_stepper import TileStepper, tile_stepper
from course_utils.widgets.variant_explorer.variant_explorer import VariantExplorer, variant_explorer
from course_utils.widgets.wiring_explorer.wiring_explorer import WiringExplorer, wiring_explorer

__all__ = [
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(__name__)
]

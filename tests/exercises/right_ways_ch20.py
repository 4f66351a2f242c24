"""Right answers to the exercises of chapter 20 in other styles."""

import math

import numpy as np
import torch
import torch.nn.functional as F

# role_share

# without_key

# mean_ablate

# composition_score

# logit_lens

# direct_attribution

# patch_grid

# copying_score

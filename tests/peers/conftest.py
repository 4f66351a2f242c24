"""The peers' own settings, before any of them is imported."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # every peer here is small and random: nothing is fetched

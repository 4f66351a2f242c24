"""Parts of published layers that no chapter builds: heads, states, experts and norms."""

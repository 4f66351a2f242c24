"""Who may attend to whom: masks of every kind, packing, and a test for leaks."""

"""The widget ``tile_stepper``: its Python, JavaScript and style."""

"""The widget ``rope_clock``: its Python, JavaScript and style."""

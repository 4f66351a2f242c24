"""The widget ``extrapolation_explorer``: its Python, JavaScript and style."""

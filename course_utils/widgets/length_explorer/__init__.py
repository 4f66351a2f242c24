"""The widget ``length_explorer``: its Python, JavaScript and style."""

"""The widget ``alignment_explorer``: its Python, JavaScript and style."""

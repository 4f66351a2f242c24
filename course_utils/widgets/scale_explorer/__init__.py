"""The widget ``scale_explorer``: its Python, JavaScript and style."""

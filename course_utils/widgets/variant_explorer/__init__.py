"""The widget ``variant_explorer``: its Python, JavaScript and style."""

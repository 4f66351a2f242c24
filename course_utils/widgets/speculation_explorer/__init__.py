"""The widget ``speculation_explorer``: its Python, JavaScript and style."""

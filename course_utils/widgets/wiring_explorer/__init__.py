"""The widget ``wiring_explorer``: its Python, JavaScript and style."""

"""The widget ``state_explorer``: its Python, JavaScript and style."""

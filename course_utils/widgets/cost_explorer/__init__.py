"""The widget ``cost_explorer``: its Python, JavaScript and style."""

"""The widget ``head_grid``: its Python, JavaScript and style."""

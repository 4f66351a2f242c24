"""The widget ``projection_toy``: its Python, JavaScript and style."""

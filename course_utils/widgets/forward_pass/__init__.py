"""The widget ``forward_pass``: its Python, JavaScript and style."""

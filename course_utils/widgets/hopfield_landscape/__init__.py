"""The widget ``hopfield_landscape``: its Python, JavaScript and style."""

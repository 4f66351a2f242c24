"""The widget ``explanation_graph``: its Python, JavaScript and style."""

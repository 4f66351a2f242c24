"""The widget ``heatmap``: its Python, JavaScript and style."""

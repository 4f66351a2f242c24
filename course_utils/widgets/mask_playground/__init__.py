"""The widget ``mask_playground``: its Python, JavaScript and style."""

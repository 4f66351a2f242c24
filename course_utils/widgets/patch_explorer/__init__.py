"""The widget ``patch_explorer``: its Python, JavaScript and style."""

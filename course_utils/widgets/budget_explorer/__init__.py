"""The widget ``budget_explorer``: its Python, JavaScript and style."""

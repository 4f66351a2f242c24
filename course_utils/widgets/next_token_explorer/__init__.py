"""The widget ``next_token_explorer``: its Python, JavaScript and style."""

"""The widget ``date_writer``: its Python, JavaScript and style."""

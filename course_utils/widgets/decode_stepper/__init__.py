"""The widget ``decode_stepper``: its Python, JavaScript and style."""

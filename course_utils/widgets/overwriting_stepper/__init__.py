"""The widget ``overwriting_stepper``: its Python, JavaScript and style."""

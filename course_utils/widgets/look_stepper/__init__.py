"""The widget ``look_stepper``: its Python, JavaScript and style."""

"""The widget ``ring_stepper``: its Python, JavaScript and style."""

"""Grade submitted notebooks; the functions in them are run where they can do no harm.

nbgrader reads `nbgrader_judge` here at its every step, so nothing heavy is imported.
"""

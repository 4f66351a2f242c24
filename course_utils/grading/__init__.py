"""Grade submitted notebooks; their functions run where they can do no harm.

nbgrader imports `nbgrader_judge` from here at every step, so nothing heavy is imported.
"""

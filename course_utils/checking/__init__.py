"""The checking engine: exercises as data, a pure judge, reports, and a learner's progress.

It knows no chapter. Everything that `check` needs to know about an exercise is in an `Exercise`.
"""

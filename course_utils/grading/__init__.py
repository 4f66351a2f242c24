"""Grade submitted notebooks; the functions in them are run where they can do no harm."""

from course_utils.grading.grade import grade

__all__ = ["grade"]

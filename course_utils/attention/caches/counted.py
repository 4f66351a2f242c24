"""A base of all caches: they count their tokens, drop the last ones, and reorder rows."""

from course_utils.attention.caches.movable_rows import MovableRows
from course_utils.validation import check_int


class Counted(MovableRows):
    """A cache that knows how many tokens it has seen; only `append` and `crop` change that."""

    _length = 0

    @property
    def length(self) -> int:
        """The number of tokens appended and not cropped."""
        return self._length

    def crop(self, length: int) -> None:
        """Drop all tokens after the first `length`, as if they had never been appended.

        Raises:
            ValueError: The cache no longer holds that many tokens.
        """
        check_int(length=length)
        if not 0 <= length <= self._length:
            raise ValueError(f"length must lie between 0 and {self._length}, got {length}")
        self._forget(length)
        self._length = length

    def _forget(self, length: int) -> None:
        """Release what only the tokens after the first `length` need."""

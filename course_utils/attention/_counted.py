"""What all caches have in common: they count their tokens, forget the last ones, and move rows."""

from course_utils.attention.movable_rows import MovableRows
from course_utils.validation import check_int


class Counted(MovableRows):
    """A cache that knows how many tokens it has seen; only `append` and `crop` change that."""

    _length = 0

    @property
    def length(self) -> int:
        """How many tokens were appended so far and not cropped."""
        return self._length

    def crop(self, length: int) -> None:
        """Forget all tokens but the first `length`, as if the others had never come.

        Raises:
            TypeError: The length is not an int.
            ValueError: It is negative, or the cache does not hold so many tokens any more.
        """
        check_int(length=length)
        if not 0 <= length <= self._length:
            raise ValueError(f"length must lie between 0 and {self._length}, got {length}")
        self._forget(length)
        self._length = length

    def _forget(self, length: int) -> None:
        """Give back what only the tokens behind the first `length` need."""

"""The sweep reads losses off where it is asked to, and its record is of today's models."""

import pytest

from course_utils.data import character_text
from course_utils.measure import read_record
from course_utils.models import SmallTransformer, train_at_width
from course_utils.models.tasks.width_sweep import SIZES

RECORD = read_record("chapter_12_scaling")


def test_losses_are_read_at_each_number_of_steps() -> None:
    text = character_text()
    told = list[float]()
    points = train_at_width(text, 4, (1, 3), seed=0, watch=told.append)
    assert [point.num_tokens for point in points] == [512, 3 * 512]
    assert len(told) == 3
    alone = train_at_width(text, 4, (1,), seed=0)
    assert alone == points[:1]


@pytest.mark.parametrize("read_at", [(), (0, 2), (3, 3), (4, 2)])
def test_steps_must_ascend(read_at: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="read_at must"):
        train_at_width(character_text(), 4, read_at, seed=0)


def test_the_recorded_sizes_are_those_of_todays_models() -> None:
    for run in RECORD["runs"]:
        model = SmallTransformer(96, d_model=run["d_model"], **SIZES)
        assert run["num_parameters"] == sum(one.numel() for one in model.parameters())
        tables = (model.token, model.position, model.out)
        assert run["num_embedding"] == sum(
            one.numel() for table in tables for one in table.parameters()
        )

"""Right answers in other styles than the reference: every one of them must pass."""

from collections.abc import Callable

from tests.exercises.right_ways_ch01 import RIGHT_WAYS_CH01
from tests.exercises.right_ways_ch02 import RIGHT_WAYS_CH02
from tests.exercises.right_ways_ch03 import RIGHT_WAYS_CH03
from tests.exercises.right_ways_ch04 import RIGHT_WAYS_CH04
from tests.exercises.right_ways_ch05 import RIGHT_WAYS_CH05
from tests.exercises.right_ways_ch06 import RIGHT_WAYS_CH06
from tests.exercises.right_ways_ch07 import RIGHT_WAYS_CH07
from tests.exercises.right_ways_ch08 import RIGHT_WAYS_CH08
from tests.exercises.right_ways_ch09 import RIGHT_WAYS_CH09
from tests.exercises.right_ways_ch10 import RIGHT_WAYS_CH10
from tests.exercises.right_ways_ch11 import RIGHT_WAYS_CH11
from tests.exercises.right_ways_ch12 import RIGHT_WAYS_CH12
from tests.exercises.right_ways_ch13 import RIGHT_WAYS_CH13
from tests.exercises.right_ways_ch14 import RIGHT_WAYS_CH14
from tests.exercises.right_ways_ch15 import RIGHT_WAYS_CH15
from tests.exercises.right_ways_ch16 import RIGHT_WAYS_CH16
from tests.exercises.right_ways_ch17 import RIGHT_WAYS_CH17
from tests.exercises.right_ways_ch18 import RIGHT_WAYS_CH18

RIGHT_WAYS: dict[str, tuple[Callable[..., object], ...]] = {
    **RIGHT_WAYS_CH01,
    **RIGHT_WAYS_CH02,
    **RIGHT_WAYS_CH03,
    **RIGHT_WAYS_CH04,
    **RIGHT_WAYS_CH05,
    **RIGHT_WAYS_CH06,
    **RIGHT_WAYS_CH07,
    **RIGHT_WAYS_CH08,
    **RIGHT_WAYS_CH09,
    **RIGHT_WAYS_CH10,
    **RIGHT_WAYS_CH11,
    **RIGHT_WAYS_CH12,
    **RIGHT_WAYS_CH13,
    **RIGHT_WAYS_CH14,
    **RIGHT_WAYS_CH15,
    **RIGHT_WAYS_CH16,
    **RIGHT_WAYS_CH17,
    **RIGHT_WAYS_CH18,
}

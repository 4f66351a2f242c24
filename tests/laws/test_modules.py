"""Laws of every module with drawn sizes, layouts and dtypes, with nothing, and with NaN."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_utils import attention, models, positions
from tests.laws.modules import MODULES, Module
from tests.laws.refusal import call
from tests.laws.test_public_functions import few, spread_out, tensors

each_module = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
lengths = st.integers(2, 6)


@pytest.mark.thorough
@each_module
@few
@given(st.integers(2, 4), lengths, lengths)
def test_each_sequence_of_a_batch_is_read_as_it_is_alone(
    module: Module, batch: int, length: int, other: int
) -> None:
    made, given = module.build(), module.inputs(batch, length, other)
    kept = [x.clone() for x in given]
    together = tensors(module.run(made, *given))
    alone = tensors(module.run(made, *(x[-1:] for x in given)))
    for one, all_of_them in zip(alone, together, strict=True):
        torch.testing.assert_close(one, all_of_them[-1:])
    for x, before in zip(given, kept, strict=True):
        assert torch.equal(x, before)


@each_module
def test_without_gradients_the_result_is_the_same(module: Module) -> None:
    given = module.inputs(2, 5, 4)
    want = tensors(module.run(module.build(), *given))
    with torch.no_grad():
        got = tensors(module.run(module.build(), *given))
    torch.testing.assert_close(got, want)


@each_module
def test_a_state_dict_holds_all_that_a_result_depends_on(module: Module) -> None:
    given = module.inputs(2, 5, 4)
    one, other = module.build(), module.build(seed=1)
    other.load_state_dict(one.state_dict())
    want, got = (tensors(module.run(made, *given)) for made in (one, other))
    torch.testing.assert_close(got, want)


@pytest.mark.thorough
@each_module
@few
@given(st.integers(1, 3), lengths, lengths)
def test_memory_layout_of_the_input_does_not_matter(
    module: Module, batch: int, length: int, other: int
) -> None:
    made, given = module.build(), module.inputs(batch, length, other)
    plain = tensors(module.run(made, *given))
    spread = tensors(module.run(made, *map(spread_out, given)))
    torch.testing.assert_close(spread, plain)


@pytest.mark.thorough
@each_module
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_in_low_precision_the_dtype_stays_and_the_result_comes_near(
    module: Module, dtype: torch.dtype
) -> None:
    given = module.inputs(2, 5, 4, dtype=dtype)
    low = module.build().to(dtype)  # the exact module has the same rounded parameters
    exact = module.build().to(dtype).double()
    wide = [x.double() if x.is_floating_point() else x for x in given]
    room = {torch.float32: 1e-4, torch.float16: 0.03, torch.bfloat16: 0.2}[dtype]
    found, right = tensors(module.run(low, *given)), tensors(module.run(exact, *wide))
    for one, other in zip(found, right, strict=True):
        if one.is_floating_point():
            assert one.dtype == dtype
            size = float(other.detach().abs().amax())
            torch.testing.assert_close(one.double(), other, rtol=room, atol=room * (size + 0.1))


@each_module
@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("length", [0, 1])
def test_batches_and_sequences_of_none_and_one_are_served_or_refused(
    module: Module, batch: int, length: int
) -> None:
    given = dict(enumerate(module.inputs(batch, length, length)))
    made = module.build()
    found = call(lambda given: module.run(made, *given.values()), {"given": given})
    for part in tensors(found):
        assert part.shape[0] == batch
        assert not part.is_floating_point() or not bool(part.isnan().any())


@pytest.mark.parametrize(
    "module", [one for one in MODULES if one.width], ids=lambda module: module.name
)
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_what_is_no_number_stays_in_its_sequence(module: Module, bad: float) -> None:
    made, given = module.build(), module.inputs(3, 4, 5)
    clean = tensors(module.run(made, *given))
    for x in given:
        x[0, 0, 0] = bad
    spoilt = tensors(module.run(made, *given))
    for one, other in zip(spoilt, clean, strict=True):
        torch.testing.assert_close(one[1:], other[1:])
    assert any(not bool(part[0].isfinite().all()) for part in spoilt)


@pytest.mark.parametrize(
    "module", [one for one in MODULES if one.width], ids=lambda module: module.name
)
def test_a_stream_of_another_width_or_dtype_is_served_or_refused(module: Module) -> None:
    for change in (lambda x: x[..., :-2], lambda x: x.float(), lambda x: x.long()):
        for number in range(module.streams):
            given = module.inputs(2, 4, 5)
            given[number] = change(given[number])
            made = module.build()
            call(lambda given, made=made: module.run(made, *given), {"given": given})


@pytest.mark.parametrize(
    "module", [one for one in MODULES if not one.width], ids=lambda module: module.name
)
def test_a_token_outside_of_the_vocabulary_is_refused(module: Module) -> None:
    made = module.build()
    tables = [part for part in made.modules() if isinstance(part, nn.Embedding)]
    for number in range(module.streams):
        for token in (-1, max(table.num_embeddings for table in tables)):
            given = module.inputs(2, 4, 5)
            given[number][0, 1] = token
            with pytest.raises(ValueError, match="must lie between 0 and"):
                module.run(made, *given)


def test_every_module_of_the_packages_is_held_to_these_laws() -> None:
    exported = {
        thing
        for package in (attention, positions, models)
        for name in package.__all__
        if isinstance(thing := getattr(package, name), type) and issubclass(thing, nn.Module)
    }
    held = {type(part) for module in MODULES for part in module.build().modules()}
    # The first only says what its kinds do, the next rounds what another model does, the last reads
    # images of one size.
    assert exported - held == {models.Context, models.Autocast, models.VisionTransformer}

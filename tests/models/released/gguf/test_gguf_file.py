"""Test the reader of files of weights on a small one, whole, cut off and with other kinds."""

import pytest

from course_utils.models.released.gguf.gguf_file import READABLE, read_gguf
from tests.models.released.gguf.gguf_files import FIELDS, shapes, write_gguf


def test_fields_and_tensors_are_those_that_were_written(tmp_path) -> None:
    found = read_gguf(write_gguf(tmp_path / "small.gguf"))
    assert found.fields.keys() == FIELDS.keys()
    for name, value in FIELDS.items():
        one = found.fields[name]
        assert one == (pytest.approx(value) if isinstance(value, float) else value)
    assert {name: (one.kind, one.shape) for name, one in found.tensors.items()} == shapes()
    for one in found.tensors.values():
        kind = READABLE[one.kind]
        assert one.weights().numel() * kind.num_bytes == one.num_bytes * kind.numbers
        assert one.weights().isfinite().all()
        # Weights hold no page of the file: it is unmapped when nobody needs its tensors.
        assert one.weights().untyped_storage().data_ptr() != one.data.untyped_storage().data_ptr()


@pytest.mark.parametrize("share", [0.001, 0.2, 0.6, 0.99])
def test_a_file_that_is_cut_off_is_refused_wherever_it_ends(share, tmp_path) -> None:
    path = write_gguf(tmp_path / "small.gguf")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"small.gguf must be a whole GGUF file: it is cut off"):
        read_gguf(path)


def test_other_files_and_other_kinds_are_refused_by_name(tmp_path) -> None:
    name = "blk.0.attn_q.weight"
    path = write_gguf(tmp_path / "half.gguf", kinds={name: "F16"})
    with pytest.raises(ValueError, match=rf"{name} must be of kind F32, Q4_1, Q8_0, got F16"):
        read_gguf(path)
    path.write_bytes(b"PK\x03\x04" + bytes(64))
    with pytest.raises(ValueError, match="must begin with b'GGUF', got b'PK"):
        read_gguf(path)
    path.write_bytes(b"GGUF" + bytes([1, 0, 0, 0]) + bytes(64))
    with pytest.raises(ValueError, match="version of GGUF must be 2 or 3, got 1"):
        read_gguf(path)
    with pytest.raises(FileNotFoundError):
        read_gguf(tmp_path / "nothing.gguf")

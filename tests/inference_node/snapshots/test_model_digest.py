from pathlib import Path

from inference_node.snapshots.model_digest import model_digest


def write(directory: Path, **files: bytes) -> Path:
    directory.mkdir()
    for name, data in files.items():
        (directory / name.replace("_", ".")).write_bytes(data)
    return directory


def test_the_same_model_in_another_directory_has_the_same_digest(tmp_path: Path) -> None:
    one = write(tmp_path / "one", model_safetensors=b"weights", config_json=b"{}")
    two = write(tmp_path / "two", model_safetensors=b"weights", config_json=b"{}", README_md=b"other words")
    assert model_digest(one) == model_digest(two)
    assert model_digest(one).startswith("sha256:")


def test_one_changed_byte_of_weights_or_configuration_is_another_model(tmp_path: Path) -> None:
    digests = {
        model_digest(write(tmp_path / "a", model_safetensors=b"weights", config_json=b"{}")),
        model_digest(write(tmp_path / "b", model_safetensors=b"weightz", config_json=b"{}")),
        model_digest(write(tmp_path / "c", model_safetensors=b"weights", config_json=b"{ }")),
        model_digest(write(tmp_path / "d", model_safetensors=b"{}", config_json=b"weights")),
        model_digest(write(tmp_path / "e", model_safetensors=b"weights")),
    }
    assert len(digests) == 5


def test_weights_in_several_files_are_all_a_part_of_it(tmp_path: Path) -> None:
    whole = write(tmp_path / "a", one_safetensors=b"1", two_safetensors=b"2")
    changed = write(tmp_path / "b", one_safetensors=b"1", two_safetensors=b"3")
    assert model_digest(whole) != model_digest(changed)


def test_a_model_can_be_one_file(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"one")
    before = model_digest(path)
    path.write_bytes(b"two")
    assert model_digest(path) != before

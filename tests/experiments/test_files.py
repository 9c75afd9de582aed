"""Files are whole or not there."""

import pytest

from duelist.experiments._files import output_directory, write_atomically


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing_behind(tmp_path, monkeypatch):
    place = write_atomically(tmp_path / "table.md", "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(place, "new and longer")
    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


def test_text_is_utf8_and_bytes_are_kept(tmp_path):
    assert write_atomically(tmp_path / "a", "1 ± 2").read_bytes() == b"1 \xc2\xb1 2"
    assert write_atomically(tmp_path / "a", b"\xff").read_bytes() == b"\xff"


def test_a_directory_is_made_with_its_parents(tmp_path):
    assert output_directory(str(tmp_path / "a" / "b")).is_dir()


def test_a_file_in_the_place_of_the_directory_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"directory: cannot make .*file"):
        output_directory(tmp_path / "file")
    with pytest.raises(ValueError, match=r"directory: cannot make .*inside"):
        output_directory(tmp_path / "file" / "inside")


def test_a_directory_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(ValueError, match="directory: expected one that can be written to"):
        output_directory(tmp_path)

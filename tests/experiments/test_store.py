"""The result directory: whole files or none, and nothing mixed into it."""

import errno
import json
import os

import numpy as np
import pytest
from tests.experiments.tiny import cell, made_up, same

from duelist.experiments._results import REGRETS
from duelist.experiments._store import StoreError, open_store

SETTINGS = {"preset": {"name": "tiny", "belief": {"lam": 1.0}}, "seeds": [0, 1], "horizon": 8}
VERSIONS = {"duelist": "0.1", "jax": "0.10"}


def opened(directory, *, resume=False, settings=SETTINGS, versions=VERSIONS):
    return open_store(
        directory, resume=resume, settings=settings, versions=versions, notes={"command": "x"}
    )


@pytest.fixture
def saved(tmp_path):
    """A store with one finished cell in it, the cell, its result and its file."""
    store, one = opened(tmp_path / "out"), cell()
    result = made_up(one)
    return store, one, result, store.save(one, result)


def test_what_was_saved_is_loaded_bit_for_bit(saved):
    store, one, result, path = saved
    assert path.parent == store.directory / "cells"
    loaded = store.load(one)
    assert same(loaded, result)
    assert (loaded.seconds, loaded.compile_seconds) == (0.5, 0.25)


def test_the_file_can_be_read_without_this_package(saved):
    _, one, result, path = saved
    with np.load(path, allow_pickle=False) as arrays:
        assert set(arrays) == {*REGRETS, "meta"}
        np.testing.assert_array_equal(arrays["weak"], result.regret["weak"])
        meta = json.loads(arrays["meta"].tobytes())
    assert meta["description"] == one.description()


def test_a_cell_that_was_not_run_is_not_there(saved):
    store, *_ = saved
    assert store.load(cell(seeds=(0, 2))) is None
    assert store.load(cell(horizon=9)) is None
    assert store.load(cell(beta=2.0)) is None


def test_saving_again_replaces_and_leaves_nothing_else(saved):
    store, one, _, path = saved
    second = made_up(one, seed=1)
    assert store.save(one, second) == path
    assert same(store.load(one), second)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("keep", [0, 1, 100, -1])
def test_a_file_cut_short_is_refused(saved, keep):
    store, one, _, path = saved
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(StoreError, match="damaged file") as error:
        store.load(one)
    assert str(path) in str(error.value)
    assert "delete it and go on with --resume" in str(error.value)


def test_no_flipped_bit_changes_a_result(saved):
    store, one, result, path = saved
    whole, refused = path.read_bytes(), 0
    for position in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        try:
            loaded = store.load(one)
        except StoreError:
            refused += 1
        else:
            # Dates, attributes and the like mean nothing.
            assert same(loaded, result)
    assert refused > len(whole) / 6


def foreign_archive(path):
    np.savez(path, something=np.zeros(3))


def other_shape(path):
    one = cell(horizon=9)
    arrays = dict(np.load(path))
    np.savez(path, **{**arrays, **made_up(one).regret})


def other_meta(path):
    arrays = dict(np.load(path))
    arrays["meta"] = np.frombuffer(b"[1, 2]", np.uint8)
    np.savez(path, **arrays)


def text(path):
    path.write_text("not an archive")


def single_array(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def directory(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage", [foreign_archive, other_shape, other_meta, text, single_array, directory]
)
def test_another_file_in_the_place_of_a_cell_is_refused(saved, damage):
    store, one, _, path = saved
    damage(path)
    with pytest.raises(StoreError, match=r"expected a finished cell, got a damaged file"):
        store.load(one)


def test_the_file_of_another_cell_under_the_name_of_this_one_is_refused(saved):
    store, one, _, path = saved
    other = cell(function="matyas")
    store.save(other, made_up(other)).replace(path)
    with pytest.raises(StoreError, match="describes another cell than its name"):
        store.load(one)


def test_a_full_disk_is_said_and_costs_no_finished_cell(saved, monkeypatch):
    store, one, result, path = saved

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    other = cell(function="matyas")
    with pytest.raises(StoreError, match=r"cannot be written: No space left.*--resume"):
        store.save(other, made_up(other))
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert same(store.load(one), result)
    assert store.load(other) is None


def test_a_directory_with_results_is_gone_on_with_only_if_asked(saved):
    store, one, result, _ = saved
    with pytest.raises(StoreError, match=r"already holds results; .*--resume"):
        opened(store.directory)
    assert same(opened(store.directory, resume=True).load(one), result)


def test_to_resume_where_nothing_was_begun_is_to_begin(tmp_path):
    assert opened(tmp_path / "new" / "out", resume=True).load(cell()) is None


def test_the_manifest_says_what_made_the_results(tmp_path):
    opened(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["settings"] == SETTINGS
    assert manifest["versions"] == VERSIONS
    assert manifest["command"] == "x"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"settings": {**SETTINGS, "horizon": 9}}, "settings.horizon is 8 there and 9 here"),
        ({"settings": {**SETTINGS, "seeds": [0]}}, r"settings.seeds is \[0, 1\] there and \[0\]"),
        (
            {"settings": {**SETTINGS, "preset": {"name": "tiny", "belief": {"lam": 2.0}}}},
            "settings.preset.belief.lam is 1.0 there and 2.0 here",
        ),
        ({"settings": {"seeds": [0, 1], "horizon": 8}}, "settings.preset is .* and None here"),
        ({"versions": {**VERSIONS, "jax": "0.11"}}, "versions.jax is '0.10' there and '0.11' here"),
    ],
)
def test_results_of_other_settings_or_versions_are_refused(saved, change, expected):
    store, *_ = saved
    with pytest.raises(StoreError, match=f"other settings or versions.*{expected}.*--out"):
        opened(store.directory, resume=True, **change)


@pytest.mark.parametrize("content", ["", '{"format": 1', "[]", '{"format": 1}', "\x00"])
def test_a_damaged_manifest_is_refused(saved, content):
    store, *_ = saved
    (store.directory / "manifest.json").write_text(content)
    with pytest.raises(StoreError, match=r"manifest.json: expected a manifest, got a damaged file"):
        opened(store.directory, resume=True)


def test_results_of_another_format_are_refused(saved):
    store, *_ = saved
    place = store.directory / "manifest.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), "format": 0}))
    with pytest.raises(StoreError, match="format is 0 there and 1 here"):
        opened(store.directory, resume=True)


def test_a_directory_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    for resume in (False, True):
        with pytest.raises(StoreError, match=r"holds files but no manifest.json.*--out"):
            opened(tmp_path, resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_run_that_ended_before_its_first_cell_can_be_begun_again(tmp_path):
    (tmp_path / "manifest.json.4711.partial").write_text('{"form')
    opened(tmp_path)
    other = {**SETTINGS, "horizon": 9}
    opened(tmp_path, settings=other)
    assert json.loads((tmp_path / "manifest.json").read_text())["settings"] == other


def test_a_place_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(StoreError, match=r"cannot be used as .*(Not a dir|File)"):
            opened(place)


def test_a_directory_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(StoreError, match="expected one that can be written to"):
        opened(tmp_path / "out")


def test_a_disk_that_is_full_from_the_start_is_said(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match=r"cannot be used as .*No space left"):
        opened(tmp_path / "out")
    monkeypatch.undo()
    opened(tmp_path / "out")

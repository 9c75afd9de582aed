"""Versions: everything that may change a number changes them."""

import ast
import platform
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

import duelist
from duelist.experiments import _versions
from duelist.experiments._versions import machine, versions

ROOT = Path(duelist.__file__).parent


def test_packages_interpreter_and_precision_are_named():
    found = versions()
    for package in ("jax", "jaxlib", "equinox", "tinygp", "numpy", "duelist"):
        assert found[package] == version(package)
    assert found["python"] == platform.python_version()
    assert found["precision"] == "float64"
    assert all(isinstance(value, str) for value in found.values())


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of the package whose digest is taken."""
    copy = tmp_path / "duelist"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(duelist, "__file__", str(copy / "__init__.py"))
    return copy


def append(path):
    path.write_text(path.read_text() + "\n# changed\n")


@pytest.mark.parametrize(
    "name", ["links.py", "belief/_fit.py", "policies/_ids.py", "experiments/_registry.py"]
)
def test_a_change_of_what_computes_is_another_source(copied, name):
    before = _versions._source_digest()
    append(copied / name)
    assert _versions._source_digest() != before


def test_a_file_that_moved_is_another_source(copied):
    before = _versions._source_digest()
    (copied / "belief" / "_beta.py").rename(copied / "belief" / "_gamma.py")
    assert _versions._source_digest() != before


def test_a_change_of_what_shows_is_not(copied):
    before = _versions._source_digest()
    assert before == versions()["source"]
    append(copied / "experiments" / "_tables.py")
    append(copied / "cli" / "_app.py")
    assert _versions._source_digest() == before


DESCRIBED = {"_cell", "_names", "_results", "_schema"}
"""Modules of the shell that decide nothing but what a cell is, which its description says."""


def imported(path):
    """The modules of the package that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("duelist"):
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith("duelist")}
    return {file for name in names if (file := file_of(name)) is not None}


def file_of(name):
    place = ROOT.joinpath(*name.split(".")[1:])
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def test_the_source_covers_all_that_a_simulation_imports():
    reached, new = set(), {ROOT / "experiments" / "_simulate.py", ROOT / "experiments" / "_job.py"}
    while new:
        reached |= new
        new = {found for path in new for found in imported(path)} - reached
    covered = {path for pattern in _versions._SOURCES for path in ROOT.glob(pattern)}
    left = {path.relative_to(ROOT).as_posix() for path in reached - covered}
    assert len(covered) > 40
    assert left <= {
        "__init__.py",
        "experiments/__init__.py",
        *(f"experiments/{name}.py" for name in DESCRIBED),
        *("experiments/_job.py", "experiments/_compilation.py"),  # which only time and start it
    }


def test_the_machine_is_described():
    found = machine()
    assert found["cores"] >= 1
    assert platform.system() in found["system"]
    assert found["processor"]

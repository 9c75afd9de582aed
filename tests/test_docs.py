"""The names that the documents point to exist."""

import ast
import importlib
import re
from functools import reduce
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def rows(name):
    lines = (ROOT / "docs" / name).read_text(encoding="utf-8").splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|") and not line.startswith("|---")
    ][1:]


@pytest.mark.parametrize("row", rows("glossary.md"), ids=lambda row: row[2])
def test_the_names_of_the_glossary_exist(row):
    assert len(row) == 4
    names, (module,) = re.findall(r"`([^`]+)`", row[2]), re.findall(r"`([^`]+)`", row[3])
    assert names
    for name in names:
        reduce(getattr, name.split("."), importlib.import_module(module))


@pytest.mark.parametrize("row", rows("errata.md"), ids=lambda row: row[0])
def test_the_tests_of_the_errata_exist(row):
    assert len(row) == 4
    places = re.findall(r"`(tests/[^`]+\.py)::(\w+)`", row[3])
    assert places
    for path, test in places:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []

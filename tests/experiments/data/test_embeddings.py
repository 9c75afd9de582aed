"""TF-IDF against its formula, sentence-transformers through a stand-in, names that are refused."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from duelist.experiments.data import (
    OpenAIEmbedding,
    SentenceTransformersEmbedding,
    TfidfEmbedding,
    embedding,
)

TEXTS = [
    "spicy noodle soup with spicy broth",
    "noodle soup, mild broth",
    "pizza with cheese and more cheese",
    "cheese pizza with basil",
    "coffee cake",
    "cake with coffee and basil",
    "soup then pizza then cake",
]


def by_formula(texts, dimensions):
    """(1 + log tf) * (1 + log((1 + n) / (1 + df))), unit rows, best rank-d part, unit rows."""
    stop = {"with", "and", "more", "then"}
    words = [[w for w in re.findall(r"\w\w+", text) if w not in stop] for text in texts]
    vocabulary = sorted({word for text in words for word in text})
    counts = np.array([[text.count(word) for word in vocabulary] for text in words], float)
    weight = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0.0)
    documents = (counts > 0).sum(axis=0)
    matrix = weight * (1 + np.log((1 + len(texts)) / (1 + documents)))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    left, singular, _ = np.linalg.svd(matrix, full_matrices=False)
    points = left[:, :dimensions] * singular[:dimensions]
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize("dimensions", [3, 5, 7])
def test_tfidf_agrees_with_the_formula(dimensions):
    points = TfidfEmbedding(dimensions)(TEXTS)
    expected = by_formula(TEXTS, dimensions)
    assert points.shape == (7, dimensions)
    # Singular vectors are unique up to sign only; the cosines between texts are unique.
    np.testing.assert_allclose(points @ points.T, expected @ expected.T, atol=1e-10)


def test_tfidf_is_deterministic_and_has_unit_rows():
    texts = [f"{text} number{n} again{n % 3}" for n in range(40) for text in TEXTS]
    first, second = TfidfEmbedding()(texts), TfidfEmbedding()(texts)
    assert first.shape == (280, 32)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1.0, rtol=1e-12)


def test_tfidf_has_fewer_dimensions_for_fewer_texts():
    assert TfidfEmbedding(32)(["noodle soup", "cheese pizza"]).shape == (2, 2)
    assert TfidfEmbedding(32)(["noodle soup"]).shape == (1, 1)


def test_tfidf_of_equal_texts():
    points = TfidfEmbedding()(["noodle soup"] * 4 + ["cheese pizza"])
    expected = np.block([[np.ones((4, 4)), np.zeros((4, 1))], [np.zeros((1, 4)), np.ones((1, 1))]])
    np.testing.assert_allclose(points @ points.T, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "texts must not be empty"),
        (["soup", "  "], "texts must not be blank, but 1 are, the first is 1"),
        (["the and of", "with"], "texts have no words to embed"),
        (["noodle soup", "the and of"], "1 of 2 texts have no direction .* number 1"),
    ],
)
def test_tfidf_refuses_texts_without_words(texts, message):
    with pytest.raises(ValueError, match=message):
        TfidfEmbedding()(texts)


def test_tfidf_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(ImportError, match="'tfidf' needs the package scikit-learn"):
        TfidfEmbedding()(TEXTS)


class StandInModel:
    """Has the two calls of a SentenceTransformer that are used."""

    def __init__(self, path, *, local_files_only):
        assert local_files_only
        self.path = path

    def encode(self, texts, *, convert_to_numpy, show_progress_bar):
        assert convert_to_numpy
        assert not show_progress_bar
        return np.array([[len(text), len(self.path)] for text in texts], np.float32)


def test_sentence_transformers_from_a_directory(monkeypatch, tmp_path):
    library = SimpleNamespace(SentenceTransformer=StandInModel)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    points = embedding(f"sentence-transformers:{tmp_path}")(["ab", "abcd"])
    length = len(str(tmp_path))
    expected = np.array([[2, length], [4, length]]) / np.hypot([[2], [4]], length)
    assert points.dtype == np.float64
    np.testing.assert_allclose(points, expected, rtol=1e-12)


def test_sentence_transformers_without_the_library(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match="needs the package sentence-transformers"):
        SentenceTransformersEmbedding(tmp_path)(["text"])


def test_sentence_transformers_without_the_directory(tmp_path):
    with pytest.raises(NotADirectoryError, match=r"needs a model directory, got .*absent"):
        embedding(f"sentence-transformers:{tmp_path / 'absent'}")


def test_names(tmp_path):
    assert embedding("tfidf", dimensions=8) == TfidfEmbedding(8)
    assert embedding("openai", cache=tmp_path) == OpenAIEmbedding(cache=tmp_path)
    assert embedding("openai:small", dimensions=4) == OpenAIEmbedding("small", 4)


@pytest.mark.parametrize("name", ["", "word2vec", "openai:", "sentence-transformers:", "tfidf:32"])
def test_unknown_names_are_refused(name):
    with pytest.raises(ValueError, match=f"name must be 'tfidf', .* got '{name}'"):
        embedding(name)


def test_dimensions_must_be_positive():
    for name in ("tfidf", "openai"):
        with pytest.raises(ValueError, match="dimensions must be at least 1, got 0"):
            embedding(name, dimensions=0)

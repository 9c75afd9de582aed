"""Texts to points: the action space of a problem whose items come with words.

An embedding is any function from texts to float64 [n, d]. The ones here return unit rows, so that a
stationary kernel sees the cosine between two texts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from duelist.experiments.data._checks import check_positive, check_texts, unit_rows
from duelist.experiments.data._openai import OpenAIEmbedding
from duelist.experiments.data._optional import require

Embedding: TypeAlias = Callable[[Sequence[str]], NDArray[np.float64]]

DIMENSIONS = 32
"""The dimension of the paper's restaurant embeddings."""


def embedding(name: str, *, dimensions: int = DIMENSIONS, cache: Path | None = None) -> Embedding:
    """Return an embedding by name.

    Args:
        name: `tfidf`; `sentence-transformers:DIR` with a local model directory; or `openai`, or
            `openai:MODEL` for a model other than `text-embedding-3-large`.
        dimensions: of the result; ignored by sentence-transformers, whose model decides.
        cache: a directory for the answers of OpenAI's interface; ignored by the others.

    Raises:
        ValueError: if the name is unknown or `dimensions` is not positive.
        NotADirectoryError: if the model directory does not exist.
    """
    kind, _, detail = name.partition(":")
    if name == "tfidf":
        return TfidfEmbedding(dimensions)
    if kind == "sentence-transformers" and detail:
        return SentenceTransformersEmbedding(Path(detail))
    if name == "openai" or (kind == "openai" and detail):
        model = detail or "text-embedding-3-large"
        return OpenAIEmbedding(model=model, dimensions=dimensions, cache=cache)
    message = (
        "name must be 'tfidf', 'sentence-transformers:DIR', 'openai' or 'openai:MODEL', "
        f"got {name!r}"
    )
    raise ValueError(message)


def resolved(name: str | Embedding, cache: Path | None) -> Embedding:
    """Return the embedding of a name, or the function that the caller gave instead of one."""
    return embedding(name, cache=cache) if isinstance(name, str) else name


@dataclass(frozen=True)
class TfidfEmbedding:
    """TF-IDF of the words, reduced by a truncated SVD (latent semantic analysis), unit rows.

    Offline and deterministic. Deerwester et al., "Indexing by Latent Semantic Analysis" (JASIS
    41(6), 1990). English stop words are left out, and term counts enter by 1 + log(count), so that
    long texts do not live off their length.

    Attributes:
        dimensions: of the result; fewer if there are fewer texts or words than that.
        seed: of the randomised SVD.
    """

    dimensions: int = DIMENSIONS
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive("dimensions", self.dimensions)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return float64 [n, min(dimensions, n, words)] with unit rows.

        Raises:
            ValueError: if no text has a word, or the SVD leaves nothing of one of them.
        """
        check_texts(texts)
        text = require(
            "sklearn.feature_extraction.text", package="scikit-learn", purpose="embedding 'tfidf'"
        )
        vectoriser = text.TfidfVectorizer(stop_words="english", sublinear_tf=True)
        try:
            words = vectoriser.fit_transform(texts)
        except ValueError as error:
            raise ValueError(f"texts have no words to embed: {error}") from error
        return unit_rows(self._reduced(words))

    def _reduced(self, words: Any) -> NDArray[np.float64]:
        extmath = require(
            "sklearn.utils.extmath", package="scikit-learn", purpose="embedding 'tfidf'"
        )
        kept = min(self.dimensions, *words.shape)
        # ARPACK is not reproducible where singular values tie; the randomised method is.
        left, singular, _ = extmath.randomized_svd(words, kept, n_iter=20, random_state=self.seed)
        return np.asarray(left * singular, dtype=np.float64)


@dataclass(frozen=True)
class SentenceTransformersEmbedding:
    """A sentence-transformers model from a local directory; nothing is downloaded.

    Reimers and Gurevych, "Sentence-BERT" (EMNLP 2019).

    Attributes:
        directory: where the model was saved.
    """

    directory: Path

    def __post_init__(self) -> None:
        if not self.directory.is_dir():
            message = f"sentence-transformers needs a model directory, got {self.directory}"
            raise NotADirectoryError(message)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return float64 [n, d] with unit rows, d being the model's.

        Raises:
            ImportError: if sentence-transformers is not installed.
        """
        check_texts(texts)
        library = require(
            "sentence_transformers",
            package="sentence-transformers",
            purpose=f"embedding 'sentence-transformers:{self.directory}'",
        )
        model = library.SentenceTransformer(str(self.directory), local_files_only=True)
        vectors = model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        return unit_rows(np.asarray(vectors, dtype=np.float64))

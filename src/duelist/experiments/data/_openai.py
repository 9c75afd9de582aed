"""Embeddings from OpenAI's interface, or from any server that speaks it."""

import hashlib
import json
import math
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.experiments.data._checks import check_positive, check_texts, unit_rows
from duelist.experiments.data._http import Retries, post_json

_DEFAULT_URL = "https://api.openai.com/v1"


def default_cache() -> Path:
    """Return the user's cache directory for embeddings: `$XDG_CACHE_HOME`, else `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "duelist" / "embeddings"


@dataclass(frozen=True)
class OpenAIEmbedding:
    """The paper's embedding: `text-embedding-3-large` with 32 dimensions.

    The key is read from the environment variable OPENAI_API_KEY when a request is made, kept
    nowhere and never shown; OPENAI_BASE_URL replaces the public address. Answers are cached one
    file per text, named by the hash of address, model, dimensions and text, so an interrupted run
    pays nothing twice.

    Attributes:
        model: the model's name.
        dimensions: of the result.
        cache: the cache directory; by default the user's (`default_cache`).
        max_characters: longer texts are cut here, with a warning. The models take 8192 tokens,
            about 4 characters each in English; the server refuses what is still too long for it.
        batch_texts: texts per request, at most.
        batch_characters: characters per request, at most (the interface takes 300 000 tokens).
        retries: how often and how patiently to try again.
    """

    model: str = "text-embedding-3-large"
    dimensions: int = 32
    cache: Path | None = None
    max_characters: int = 24_000
    batch_texts: int = 128
    batch_characters: int = 600_000
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        for label in ("dimensions", "max_characters", "batch_texts", "batch_characters"):
            check_positive(label, getattr(self, label))

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return float64 [n, dimensions] with unit rows.

        Raises:
            ValueError: if a text is blank, or the answer is not what was asked for.
            RuntimeError: if OPENAI_API_KEY is not set, or the server refuses or fails for good.
        """
        check_texts(texts)
        inputs = self._shortened(texts)
        base_url = (os.environ.get("OPENAI_BASE_URL") or _DEFAULT_URL).rstrip("/")
        cache = _Cache(self.cache or default_cache(), self.dimensions)
        keys = {text: self._key(base_url, text) for text in inputs}
        known = {text: vector for text in keys if (vector := cache.read(keys[text])) is not None}
        missing = [text for text in keys if text not in known]
        for batch in self._batches(missing):
            for text, vector in zip(batch, self._request(base_url, batch), strict=True):
                cache.write(keys[text], vector)
                known[text] = vector
        return unit_rows(np.array([known[text] for text in inputs], dtype=np.float64))

    def _shortened(self, texts: Sequence[str]) -> list[str]:
        longer = sum(len(text) > self.max_characters for text in texts)
        if longer:
            message = f"{longer} of {len(texts)} texts were cut at {self.max_characters} characters"
            warnings.warn(message, stacklevel=3)
        return [text[: self.max_characters] for text in texts]

    def _key(self, base_url: str, text: str) -> str:
        parts = json.dumps([base_url, self.model, self.dimensions, text])
        return hashlib.sha256(parts.encode()).hexdigest()

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        characters = 0
        for text in texts:
            full = len(batch) == self.batch_texts
            if batch and (full or characters + len(text) > self.batch_characters):
                yield batch
                batch, characters = [], 0
            batch.append(text)
            characters += len(text)
        if batch:
            yield batch

    def _request(self, base_url: str, batch: list[str]) -> list[list[float]]:
        key = os.environ.get("OPENAI_API_KEY")
        if not key:
            raise RuntimeError(
                "the embedding 'openai' needs the environment variable OPENAI_API_KEY"
            )
        document = {
            "model": self.model,
            "input": batch,
            "dimensions": self.dimensions,
            "encoding_format": "float",
        }
        answer = post_json(f"{base_url}/embeddings", document, key=key, retries=self.retries)
        return _vectors(answer, len(batch), self.dimensions)


def _vectors(answer: Any, count: int, dimensions: int) -> list[list[float]]:
    """Return the vectors of an answer in the order of the texts asked about."""
    try:
        by_index = {entry["index"]: entry["embedding"] for entry in answer["data"]}
        vectors = [by_index[index] for index in range(count)]
    except (KeyError, TypeError) as error:
        message = f"the answer does not hold one embedding per text: {type(error).__name__} {error}"
        raise ValueError(message) from error
    if not all(_is_vector(vector, dimensions) for vector in vectors):
        raise ValueError(f"the answer's embeddings are not {dimensions} finite numbers each")
    return vectors


def _is_vector(value: Any, dimensions: int) -> bool:
    if not isinstance(value, list) or len(value) != dimensions:
        return False
    return all(isinstance(x, int | float) and math.isfinite(x) for x in value)


@dataclass(frozen=True)
class _Cache:
    directory: Path
    dimensions: int

    def read(self, key: str) -> list[float] | None:
        """Return the vector under a key, or None if there is none (or none that can be used)."""
        try:
            value = json.loads((self.directory / f"{key}.json").read_text())
        except (FileNotFoundError, ValueError):
            return None
        return value if _is_vector(value, self.dimensions) else None

    def write(self, key: str, vector: list[float]) -> None:
        """Store a vector so that no reader ever sees half of it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self.directory, prefix=key, suffix=".tmp")
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump(vector, file)
            Path(name).replace(self.directory / f"{key}.json")
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

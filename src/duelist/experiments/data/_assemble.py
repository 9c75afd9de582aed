"""The last steps of every pipeline: embed the texts, complete the ratings, put it all together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duelist.experiments.data._completion import complete
from duelist.experiments.data._embeddings import Embedding
from duelist.experiments.data._rated_items import RatedItems, distinct_names


@dataclass(frozen=True, eq=False)
class Selection:
    """What the filters of a pipeline left over.

    Attributes:
        keys: of the items, distinct.
        names: of the items, for people; made distinct with the key where they are not.
        texts: of the items, to be embedded.
        users: ids, one per row of `ratings`.
        ratings: float64 [users, items], NaN where missing.
        scale: lowest and highest possible rating, or None for those that occur.
        counts: after each filter, in order.
    """

    keys: Sequence[str]
    names: Sequence[str]
    texts: Sequence[str]
    users: Sequence[str]
    ratings: NDArray[np.float64]
    scale: tuple[float, float] | None
    counts: Mapping[str, int]


def assemble(
    selection: Selection,
    *,
    embed: Embedding,
    seed: int,
    source: str,
    citation: str,
) -> RatedItems:
    """Embed, complete and validate a selection; `embed` and `complete` say what can fail."""
    utilities = complete(selection.ratings, scale=selection.scale, seed=seed)
    features = embed(selection.texts)
    missing = int(np.isnan(selection.ratings).sum())
    counts = {
        **selection.counts,
        "items": len(selection.keys),
        "users": len(selection.users),
        "ratings": selection.ratings.size - missing,
        "ratings filled": missing,
        "dimensions": features.shape[1],
    }
    return RatedItems(
        items=distinct_names(list(selection.names), list(selection.keys)),
        features=features,
        utilities=utilities,
        users=tuple(selection.users),
        counts=counts,
        source=source,
        citation=citation,
    )

"""Real-world problems: items with features and what users think of them.

Each pipeline (`yelp`, `movielens`, `ratings_csv`) filters ratings, completes the missing ones by
collaborative filtering, embeds the items' texts, and returns `RatedItems`, which is all that an
experiment needs. Nothing here uses JAX.
"""

from duelist.experiments.data._completion import complete as complete
from duelist.experiments.data._embeddings import DIMENSIONS as DIMENSIONS
from duelist.experiments.data._embeddings import Embedding as Embedding
from duelist.experiments.data._embeddings import (
    SentenceTransformersEmbedding as SentenceTransformersEmbedding,
)
from duelist.experiments.data._embeddings import TfidfEmbedding as TfidfEmbedding
from duelist.experiments.data._embeddings import embedding as embedding
from duelist.experiments.data._http import Retries as Retries
from duelist.experiments.data._movielens import movielens as movielens
from duelist.experiments.data._openai import OpenAIEmbedding as OpenAIEmbedding
from duelist.experiments.data._openai import default_cache as default_cache
from duelist.experiments.data._rated_items import RatedItems as RatedItems
from duelist.experiments.data._ratings_csv import ratings_csv as ratings_csv
from duelist.experiments.data._yelp import YELP_PAPER_COUNTS as YELP_PAPER_COUNTS
from duelist.experiments.data._yelp import yelp as yelp

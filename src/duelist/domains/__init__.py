"""Domains: where actions live and how to search them."""

from duelist.domains._base import ALL as ALL
from duelist.domains._base import AbstractBag as AbstractBag
from duelist.domains._base import AbstractDomain as AbstractDomain
from duelist.domains._base import Action as Action
from duelist.domains._base import PairScore as PairScore
from duelist.domains._base import Plausible as Plausible
from duelist.domains._base import Score as Score
from duelist.domains._box import Box as Box
from duelist.domains._continuous import AbstractContinuous as AbstractContinuous
from duelist.domains._continuous import Region as Region
from duelist.domains._finite import FiniteDomain as FiniteDomain

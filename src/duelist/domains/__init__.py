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
from duelist.domains._mixed import mixed_domain as mixed_domain
from duelist.domains._mixed import mixed_kernel as mixed_kernel
from duelist.domains._mixed_alternating import AlternatingDomain as AlternatingDomain
from duelist.domains._mixed_enumerated import EnumeratedDomain as EnumeratedDomain
from duelist.domains._mixed_parameters import AbstractParameter as AbstractParameter
from duelist.domains._mixed_parameters import Categorical as Categorical
from duelist.domains._mixed_parameters import Fixed as Fixed
from duelist.domains._mixed_parameters import Integer as Integer
from duelist.domains._mixed_parameters import Ordinal as Ordinal
from duelist.domains._mixed_parameters import Real as Real
from duelist.domains._mixed_parameters import boolean as boolean

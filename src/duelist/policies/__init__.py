"""Policies: which query to ask next, one file per algorithm."""

from duelist.policies._base import AbstractBeliefPolicy as AbstractBeliefPolicy
from duelist.policies._base import AbstractPolicy as AbstractPolicy
from duelist.policies._base import Query as Query
from duelist.policies._base import State as State
from duelist.policies._contextual import Contextual as Contextual
from duelist.policies._doubler import Doubler as Doubler
from duelist.policies._eubo import EUBO as EUBO
from duelist.policies._ids import IDS as IDS
from duelist.policies._maxinp import MaxInP as MaxInP
from duelist.policies._maxminlcb import MaxMinLCB as MaxMinLCB
from duelist.policies._maxminlcb import MaxMinUCB as MaxMinUCB
from duelist.policies._multisbm import MultiSBM as MultiSBM
from duelist.policies._parallel import ask_many as ask_many
from duelist.policies._plausible import plausible as plausible
from duelist.policies._random import RandomDuel as RandomDuel
from duelist.policies._random import RandomRating as RandomRating
from duelist.policies._rucb import RUCB as RUCB
from duelist.policies._sparring import Sparring as Sparring
from duelist.policies._thompson import DoubleThompson as DoubleThompson
from duelist.policies._ucb import UCB as UCB

"""Beliefs: what is known about the utility after the answers so far."""

from duelist.belief._base import AbstractBelief as AbstractBelief
from duelist.belief._base import AbstractUtilityBelief as AbstractUtilityBelief
from duelist.belief._beta import AbstractBeta as AbstractBeta
from duelist.belief._beta import FixedBeta as FixedBeta
from duelist.belief._beta import TheoremBeta as TheoremBeta
from duelist.belief._constants import Constants as Constants
from duelist.belief._fit import Fit as Fit
from duelist.belief._fit import FitStatus as FitStatus
from duelist.belief._gain import maximum_gain as maximum_gain
from duelist.belief._independent import IndependentBelief as IndependentBelief
from duelist.belief._independent import independent_prior as independent_prior
from duelist.belief._log_ucb1 import LogUCB1Belief as LogUCB1Belief
from duelist.belief._log_ucb1 import log_ucb1_prior as log_ucb1_prior
from duelist.belief._ridge import RidgeBelief as RidgeBelief
from duelist.belief._ridge import ridge_prior as ridge_prior
from duelist.belief._table import TableBelief as TableBelief
from duelist.belief._table import prior as prior

"""What may stand in a preset or an experiment file; pydantic refuses everything else."""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from duelist.experiments._names import Variant

Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Count: TypeAlias = Annotated[int, Field(ge=1)]

Name: TypeAlias = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9^-]*$")]
"""What tables and files are called by."""

KernelName: TypeAlias = Literal["rbf", "exponential", "matern32", "matern52"]


class Strict(BaseModel):
    """Unknown keys, texts in the place of numbers and changes afterwards are refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=True)


class Kernel(Strict):
    """A stationary kernel on features.

    Attributes:
        kernel: its name.
        length_scale: in the units of the features.
        variance: k(x, x).
    """

    kernel: KernelName = "rbf"
    length_scale: Positive = 1.0
    variance: Positive = 1.0


class MapBelief(Kernel):
    """`duelist.belief.prior`: the penalised estimate and the paper's widths around it.

    Attributes:
        belief: "map".
        link: s.
        lam: lambda. 0 is not admissible: without a penalty the loss has no unique minimiser.
        bound: B.
        confidence: "fixed" for the constant `beta`; "theorem" for beta_t(delta) with the realised
            information gain; "theorem-maximum" with the bound on its maximum.
        beta: for "fixed".
        delta: for the two others.
        width: "worst-case" as in the paper, or "laplace".
        space: whether bounds are on probabilities or on utility differences.
        range_rule: how kappa follows from B.
        projected: whether the estimate is projected onto ||f||_k <= B.
        tolerance: the error of f to fit to; by default as fine as the precision allows.
    """

    belief: Literal["map"] = "map"
    link: Literal["logistic", "probit"] = "logistic"
    lam: Positive = 1.0
    bound: Positive = 1.0
    confidence: Literal["fixed", "theorem", "theorem-maximum"] = "fixed"
    beta: NonNegative = 1.0
    delta: Fraction = 0.1
    width: Literal["worst-case", "laplace"] = "worst-case"
    space: Literal["probability", "utility"] = "probability"
    range_rule: Literal["general", "nonnegative", "domain"] = "general"
    projected: bool = False
    tolerance: Positive | None = None


class GuaranteedBelief(Kernel):
    """`duelist.belief.guaranteed_prior`: bounds that all hold with probability 1 - delta.

    Attributes:
        belief: "guaranteed".
        link: s.
        bound: B, which the promise depends on and which therefore has no default.
        delta: the probability of failure.
        confidence_set: "prequential" for the likelihood-ratio sequence, "paper" for eq. def_beta.
        lam: lambda; by default what `guaranteed_prior` chooses.
        tolerance: the error of f to fit to; by default as fine as the precision allows.
    """

    belief: Literal["guaranteed"] = "guaranteed"
    link: Literal["logistic", "probit"] = "logistic"
    bound: Positive
    delta: Fraction = 0.1
    confidence_set: Literal["prequential", "paper"] = "prequential"
    lam: Positive | None = None
    tolerance: Positive | None = None


class Effects(Strict):
    """A kernel of `duelist.belief.effects`: main effects of the features, and their interaction.

    Attributes:
        length_scale: in units of the range of a feature.
        variance: k(x, x).
        interaction: the share of the variance that main effects do not make up.
    """

    length_scale: Positive
    variance: Positive
    interaction: Fraction = 0.5


class AdaptiveBelief(Strict):
    """`duelist.belief.adaptive_prior`: a mixture over kernels, weighed by the answers.

    Attributes:
        belief: "adaptive".
        link: s.
        kernels: what to decide among; by default those of the library.
        beta: c of beta_t = L c sqrt(log(2 + t)).
        caution: how many times its cost an expected gain must be to ask about an action that the
            bounds rule out.
        tolerance: the error of f to fit to; by default as fine as the precision allows.
    """

    belief: Literal["adaptive"] = "adaptive"
    link: Literal["logistic", "probit"] = "logistic"
    kernels: Annotated[tuple[Effects, ...], Field(min_length=1, strict=False)] | None = None
    beta: NonNegative = 0.65
    caution: NonNegative = 1.0
    tolerance: Positive | None = None


class RidgeBelief(Kernel):
    """`duelist.belief.ridge_prior`, of GP-UCB.

    Attributes:
        belief: "ridge".
        noise: the variance of an answer.
        mean: the estimate before any answer.
        beta: the constant coefficient of the width.
    """

    belief: Literal["ridge"] = "ridge"
    noise: Positive = 0.25
    mean: float = 0.0
    beta: NonNegative = 1.0


class IndependentBelief(Strict):
    """`duelist.belief.independent_prior`, of Ind-UCB.

    Attributes:
        belief: "independent".
        delta: the probability of failure of one bound.
        scale: answers are this subgaussian.
    """

    belief: Literal["independent"] = "independent"
    delta: Fraction = 0.1
    scale: Positive = 1.0


class LogUCB1Belief(Strict):
    """`duelist.belief.log_ucb1_prior`, of Log-UCB1.

    Attributes:
        belief: "log-ucb1".
        lam: lambda.
        bound: S with ||theta|| <= S.
        delta: the probability of failure.
        tolerance: the error of theta to fit to.
    """

    belief: Literal["log-ucb1"] = "log-ucb1"
    lam: Positive = 1.0
    bound: Positive = 1.0
    delta: Fraction = 0.1
    tolerance: Positive | None = None


Belief: TypeAlias = (
    MapBelief | AdaptiveBelief | GuaranteedBelief | RidgeBelief | IndependentBelief | LogUCB1Belief
)
"""Which belief, and what it is made with: the key `belief` decides which others there are."""

BELIEFS: dict[str, type[Belief]] = {
    "map": MapBelief,
    "adaptive": AdaptiveBelief,
    "guaranteed": GuaranteedBelief,
    "ridge": RidgeBelief,
    "independent": IndependentBelief,
    "log-ucb1": LogUCB1Belief,
}
"""The names for the key `belief`. A new belief is a model here and a builder in `_registry`."""

belief_adapter: TypeAdapter[Belief] = TypeAdapter(Annotated[Belief, Field(discriminator="belief")])


class FunctionProblem(Strict):
    """A test function on a uniform grid, utilities scaled to [-3, 3].

    Attributes:
        function: its name.
        variant: "released" or "printed"; "" for functions that have one only.
        per_axis: points per axis.
        coordinates: "raw", the features are the coordinates; "unit", divided by the box's size.
        dim: number of coordinates; by default 2, and 6 for hartmann6.
        name: what to call it in tables; by default the function.
    """

    function: str
    variant: Variant = ""
    per_axis: Annotated[int, Field(ge=2)] = 10
    coordinates: Literal["raw", "unit"] = "unit"
    dim: Count | None = None
    name: Name | None = None

    @property
    def axes(self) -> int:
        """The number of coordinates."""
        return self.dim or (6 if self.function == "hartmann6" else 2)

    @property
    def title(self) -> str:
        """The name in tables."""
        return self.name or self.function


class TableProblem(Strict):
    """A real-world problem: the ratings of one user are the utilities of one run, unscaled.

    Attributes:
        function: the name to show.
        variant: always "".
        digest: SHA-256 of features and utilities, which travel beside this description.
        items: how many.
        users: how many.
        source: where the data comes from.
    """

    function: str
    variant: Literal[""] = ""
    digest: str
    items: Count
    users: Count
    source: str

    @property
    def title(self) -> str:
        """The name in tables."""
        return self.function


Problem: TypeAlias = FunctionProblem | TableProblem


def described(model: BaseModel) -> dict[str, Any]:
    """A model as JSON has it, without what is left to its default by being None."""
    return model.model_dump(mode="json", exclude_none=True)

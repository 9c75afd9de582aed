"""The paper's formulas over the whole history of queries, dense, in NumPy's float64.

Nothing here knows how the beliefs compute: kernel matrices are t x t, one row per answer, the fit
minimises the loss in the coefficients alpha with the RKHS norm alpha' K alpha, and every
information gain is a log-determinant. A query is a tuple of one or two rows of `points`.
"""

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats


def rbf(scale):
    """exp(-||x - y||^2 / (2 scale^2)) as a function of two sets of points."""

    def kernel(a, b):
        squares = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1)
        return np.exp(-squares / (2 * scale**2))

    return kernel


def matern52_plus_linear(scale, weight):
    """The Matern-5/2 kernel in the Euclidean distance plus weight * x'y."""

    def kernel(a, b):
        r = np.sqrt(5 * ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1)) / scale
        return (1 + r + r**2 / 3) * np.exp(-r) + weight * a @ b.T

    return kernel


def signs(queries, n):
    """D [t, n]: a row e_i - e_j per duel, e_i per rating."""
    matrix = np.zeros((len(queries), n))
    for row, query in zip(matrix, queries, strict=True):
        for sign, action in zip((1, -1), query, strict=False):
            row[action] += sign
    return matrix


def informative(queries, answers):
    """Without the duels of an action with itself, about which h says nothing."""
    kept = [k for k, query in enumerate(queries) if len(query) == 1 or query[0] != query[1]]
    return [queries[k] for k in kept], np.asarray(answers, float)[kept]


def query_kernel(gram, left, right):
    """k or k^D between two lists of queries, by the definition, term by term."""
    total = np.zeros((len(left), len(right)))
    for a, sign_a in enumerate((1, -1)[: len(left[0])]):
        for b, sign_b in enumerate((1, -1)[: len(right[0])]):
            rows, columns = [query[a] for query in left], [query[b] for query in right]
            total += sign_a * sign_b * gram[np.ix_(rows, columns)]
    return total


class Logistic:
    """s, -log s and their derivatives in SciPy."""

    probability = staticmethod(scipy.special.expit)

    @staticmethod
    def loss(h):
        return np.logaddexp(0, -h)

    @staticmethod
    def slope(h):
        return scipy.special.expit(h) * scipy.special.expit(-h)

    @staticmethod
    def score(h):
        """The derivative of the loss."""
        return -scipy.special.expit(-h)

    curvature = slope


class Probit:
    """The normal distribution function and its losses in SciPy."""

    probability = staticmethod(scipy.stats.norm.cdf)
    slope = staticmethod(scipy.stats.norm.pdf)

    @staticmethod
    def loss(h):
        return -scipy.special.log_ndtr(h)

    @staticmethod
    def score(h):
        return -np.sqrt(2 / np.pi) / scipy.special.erfcx(-h / np.sqrt(2))

    @classmethod
    def curvature(cls, h):
        ratio = -cls.score(h)
        return ratio * (h + ratio)


def fit_alpha(kernel_matrix, answers, lam, link=Logistic):
    """argmin over alpha of sum_t loss + lam/2 alpha' K alpha, with h_t = K alpha.

    The minimiser of smallest norm has (derivative of the loss) + lam alpha = 0 also where K is
    singular; Newton's method polishes what SciPy's minimiser returns until that holds.
    """
    y = np.asarray(answers, float)

    def value(alpha):
        h = kernel_matrix @ alpha
        data = y @ link.loss(h) + (1 - y) @ link.loss(-h)
        return data + lam / 2 * alpha @ h

    def pull(alpha):
        h = kernel_matrix @ alpha
        return y * link.score(h) - (1 - y) * link.score(-h) + lam * alpha

    def weights(alpha):
        h = kernel_matrix @ alpha
        return y * link.curvature(h) + (1 - y) * link.curvature(-h)

    rough = scipy.optimize.minimize(
        value,
        np.zeros(len(y)),
        jac=lambda alpha: kernel_matrix @ pull(alpha),
        hessp=lambda alpha, v: kernel_matrix @ (weights(alpha) * (kernel_matrix @ v) + lam * v),
        method="Newton-CG",
        options={"xtol": 1e-10},
    )
    alpha, eye, step = rough.x, np.eye(len(y)), rough.x
    for _ in range(50):
        old = np.linalg.norm(pull(alpha))
        step = np.linalg.solve(weights(alpha)[:, None] * kernel_matrix + lam * eye, pull(alpha))
        scale = 1.0
        while scale > 1e-6 and np.linalg.norm(pull(alpha - scale * step)) >= old:
            scale /= 2
        if scale <= 1e-6:  # rounding: no step lowers the gradient any more
            break
        alpha = alpha - scale * step
    assert np.abs(kernel_matrix @ step).max(initial=0) < 1e-8
    return alpha


class Posterior:
    """Everything the paper computes after these answers, from the t x t kernel matrix."""

    def __init__(self, gram, queries, answers, lam, kappa, link=Logistic, fitted=True):
        self.gram, self.lam, self.noise, self.link = gram, lam, lam * kappa, link
        self.queries, self.answers = informative(queries, answers)
        self.matrix = query_kernel(gram, self.queries, self.queries)
        n = len(gram)
        # k(x, query) for every action: the first argument as if it were a rating of x.
        self.cross = query_kernel(gram, [(x,) for x in range(n)], self.queries)
        if fitted:
            self.alpha = fit_alpha(self.matrix, self.answers, lam, link)
            self.f = self.cross @ self.alpha
            self.h = self.matrix @ self.alpha

    def covariance(self, weights=None):
        """k(x, x') - k_t(x)' (K_t + noise)^-1 k_t(x'), eq. def_sigma polarised, over all actions.

        `weights` (one per answer) stand for 1 / noise; 1 / (lambda kappa) without them.
        """
        noise = np.full(len(self.matrix), self.noise) if weights is None else 1 / weights
        solved = scipy.linalg.solve(
            self.matrix + np.diag(noise), self.cross.T, assume_a="pos", overwrite_b=False
        )
        return self.gram - self.cross @ solved

    def widths(self, weights=None):
        """sigma_t^D over all pairs, or sigma_t over all actions for ratings."""
        return widths(self.covariance(weights), len(self.queries[0]))

    def laplace_weights(self):
        """s'(h) / lambda per answer: the weights of the Laplace posterior on the same scale."""
        y = self.answers
        curvature = self.link.curvature
        return (y * curvature(self.h) + (1 - y) * curvature(-self.h)) / self.lam

    def gain(self):
        """1/2 log det(I + K_t / (lambda kappa))."""
        scaled = np.eye(len(self.matrix)) + self.matrix / self.noise
        return np.linalg.slogdet(scaled)[1] / 2

    def value(self):
        """The regularised loss at the minimiser."""
        y = self.answers
        data = y @ self.link.loss(self.h) + (1 - y) @ self.link.loss(-self.h)
        return data + self.lam / 2 * self.alpha @ self.h


def widths(covariance, arity):
    """The standard deviation of f(x), or of f(x) - f(x') for arity 2, under a covariance."""
    diagonal = np.diag(covariance)
    if arity == 1:
        return np.sqrt(diagonal)
    squares = diagonal[:, None] + diagonal[None, :] - 2 * covariance
    return np.sqrt(np.maximum(squares, 0))


def beta(lam, bound, kappa, lipschitz, gain, delta):
    """Eq. def_beta."""
    return 4 * lipschitz * bound + 2 * lipschitz * np.sqrt(
        2 * kappa / lam * (gain + np.log(1 / delta))
    )


def random_history(rng, n, count, arity, selves=True):
    """`count` random queries over n actions with answers; duels may repeat an action."""
    queries = [tuple(int(x) for x in rng.integers(0, n, arity)) for _ in range(count)]
    if arity == 2 and not selves:
        queries = [(i, (j + (i == j)) % n) for i, j in queries]
    return queries, rng.integers(0, 2, count).astype(float)

"""C_t in NumPy and SciPy: members of it, and the largest differences over it by SLSQP."""

import numpy as np
import scipy.optimize


class Sublevel:
    """{f : ||f||_k <= bound, NLL(f) <= allowed} with features from a Cholesky factor of K."""

    def __init__(self, oracles, gram, queries, answers, link, bound, allowed):
        self.features = np.linalg.cholesky(gram)
        self.queries, self.answers = oracles.informative(queries, answers)
        self.rows = oracles.signs(self.queries, len(gram)) @ self.features
        self.link, self.bound, self.allowed = link, bound, allowed

    def loss(self, theta):
        h, y = self.rows @ theta, self.answers
        return y @ self.link.loss(h) + (1 - y) @ self.link.loss(-h)

    def gradient(self, theta):
        h, y = self.rows @ theta, self.answers
        return self.rows.T @ (y * self.link.score(h) - (1 - y) * self.link.score(-h))

    def slacks(self, theta):
        return self.allowed - self.loss(theta), (self.bound**2 - theta @ theta) / 2

    def largest(self, direction):
        """max d'f by SLSQP, from several starts, among those that end inside."""
        goal = self.features.T @ direction
        rng = np.random.default_rng(0)
        starts = [np.zeros(len(goal)), goal * self.bound / np.linalg.norm(goal)]
        starts += [rng.normal(size=len(goal)) * self.bound / len(goal) for _ in range(3)]
        ends = [self._slsqp(goal, start) for start in starts]
        return max(goal @ end for end in ends if min(self.slacks(end)) >= -1e-7)

    def _slsqp(self, goal, start):
        inside = [
            {
                "type": "ineq",
                "fun": lambda theta: self.slacks(theta)[0],
                "jac": lambda theta: -self.gradient(theta),
            },
            {
                "type": "ineq",
                "fun": lambda theta: self.slacks(theta)[1],
                "jac": lambda theta: -theta,
            },
        ]
        return scipy.optimize.minimize(
            lambda theta: -goal @ theta,
            start,
            jac=lambda theta: -goal,
            constraints=inside,
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 500},
        ).x

    def members(self, rng, count):
        """Utilities of the set, on its boundary: along random rays from a point inside it."""
        inside = self._inside()
        for _ in range(count):
            ray = rng.normal(size=len(inside))
            near, far = 0.0, 3 * self.bound / np.linalg.norm(ray)
            for _ in range(60):
                middle = (near + far) / 2
                ok = min(self.slacks(inside + middle * ray)) >= 0
                near, far = (middle, far) if ok else (near, middle)
            yield self.features @ (inside + near * ray)

    def _inside(self):
        """The minimiser of the loss over the ball, drawn a little towards zero."""
        ball = {"type": "ineq", "fun": lambda t: self.slacks(t)[1], "jac": lambda t: -t}
        start = np.zeros(self.features.shape[0])
        found = scipy.optimize.minimize(
            self.loss, start, jac=self.gradient, constraints=ball, method="SLSQP"
        )
        inside = 0.98 * found.x
        assert min(self.slacks(inside)) > 0
        return inside

"""Compare queries with all rows, view after view, on threads: brute force."""

from mercer.index.ranking import SPARE, Look, Ranking
from mercer.index.recipe import Recipe
from mercer.index.views import Queries, View
from mercer.kernels import Prepared
from mercer.runtime import parallel

TASKS_PER_THREAD = 4  # so that no thread waits long for the last one
LEAST_QUERIES, MOST_QUERIES = 32, 256  # compared together: fewer would read the items too often
KEPT = 1 << 22  # items kept for the queries of one task, at most


class Comparison:
    """The k best items of queries among the views compared so far."""

    def __init__(self, recipe: Recipe, P: Prepared, k: int) -> None:
        self.threads = parallel.count(recipe.kernel.n_jobs)
        height = max(LEAST_QUERIES, -(-len(P) // (TASKS_PER_THREAD * self.threads)))
        height = min(height, MOST_QUERIES, recipe.kernel.tile_shape[0], KEPT // (k + SPARE))
        blocks = [
            Queries(P[span], recipe.embedding, span.start)
            for span in parallel.spans(len(P), max(1, height))
        ]
        n_cuts = -(-self.threads // len(blocks))  # few queries: the rows are cut as well
        self.rankings = [
            [Ranking(recipe, block, [], k, {}) for block in blocks] for _ in range(n_cuts)
        ]

    def compare(self, view: View, look: Look | None = None) -> None:
        """Compare all queries with the rows of a view that are allowed.

        `look` sees all rows once; see `Ranking.compare`.
        """
        cuts = parallel.spans(len(view.items), -(-len(view.items) // len(self.rankings)))
        tasks = [
            (ranking, view, cut, None if place else look)
            for rankings, cut in zip(self.rankings, cuts, strict=False)
            for place, ranking in enumerate(rankings)
        ]
        parallel.run(Ranking.compare, tasks, n_jobs=self.threads)

    def merged(self) -> list[Ranking]:
        """Return one ranking for each block of queries, over everything compared so far."""
        first, *others = self.rankings
        for place, ranking in enumerate(first):
            for rankings in others:
                ranking.absorb(rankings[place])
        return first

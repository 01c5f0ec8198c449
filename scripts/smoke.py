"""Try an installed mercer: every method, saved and loaded, from outside the checkout."""

import sys
from pathlib import Path

import numpy as np

import mercer
from mercer import evaluate


def main(checkout: Path) -> None:
    """Run what a new user would, and write items for the command line."""
    home = Path(mercer.__file__).resolve()
    assert checkout.resolve() not in home.parents, f"{home} is that of the checkout"
    assert (home.parent / "py.typed").is_file()
    X = np.random.default_rng(0).dirichlet(np.ones(16), size=2000).astype(np.float32)
    np.save("items.npy", X)
    truth = evaluate.ground_truth("chi2", X, X[:20], 5)
    for name in ("exact", "brute", "klsh", "kpca_lsh", "kpca_pq", "inverted", "graph"):
        index = getattr(mercer, name)("chi2").fit(X).add(X)
        index.save(f"{name}.index")
        found = mercer.load(f"{name}.index").search(X[:20], 5)
        print(f"{name:9} recall {evaluate.recall(found, truth):.2f}")
        assert (found.ids[:, 0] == np.arange(20)).all()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

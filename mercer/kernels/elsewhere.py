"""Names under which other libraries know what this one has under another name.

Distances are not kernels: for most of them there is a kernel that ranks as they do.
"""

SAID = {
    "angular": "Ranking by angle is that of kernels.Cosine()",
    "chebyshev": "For a distance, pass kernels.from_distance(d)",
    "chi2_distance": "Ranking by χ² distance is that of kernels.ExpChi2()",
    "correlation": "It is kernels.Cosine() of rows whose mean was subtracted",
    "cosine_distance": "Ranking by cosine distance is that of kernels.Cosine()",
    "dice": "It is kernels.Tversky(0.5, 0.5)",
    "edit_distance": "For a distance, pass kernels.from_distance(d)",
    "emd": "For a distance, pass kernels.from_distance(d)",
    "euclidean": "Ranking by Euclidean distance is that of kernels.RBF()",
    "hamming": "Ranking by Hamming distance, of zeros and ones, is that of kernels.Laplacian()",
    "jensenshannon": "Ranking by Jensen–Shannon distance is that of "
    "kernels.JensenShannon().of('l1')",
    "levenshtein": "For a distance, pass kernels.from_distance(d)",
    "mahalanobis": "Ranking by that distance is that of kernels.Mahalanobis(A).radial()",
    "manhattan": "Ranking by city-block distance is that of kernels.Laplacian()",
    "minkowski": "For p = 2 take kernels.RBF(), for p = 1 kernels.Laplacian()",
    "precomputed": "For a matrix of kernel values K, pass kernels.Precomputed(K)",
    "sigmoid": "It is not positive semi-definite; pass kernels.from_gram(f)",
    "wasserstein": "For a distance, pass kernels.from_distance(d)",
}
OTHERS = {  # more names for these
    "cityblock": "manhattan",
    "dtw": "levenshtein",
    "edit": "edit_distance",
    "l1": "manhattan",
    "l2": "euclidean",
    "pearson": "correlation",
    "seuclidean": "mahalanobis",
    "sorensen_dice": "dice",
    "sqeuclidean": "euclidean",
    "squared_euclidean": "euclidean",
    "taxicab": "manhattan",
}


def said_of(name: str) -> str | None:
    """Return what is to be used for a name of another library, or None if it is unknown."""
    plain = name.lower().replace("-", "_").replace(" ", "_")
    return SAID.get(OTHERS.get(plain, plain))

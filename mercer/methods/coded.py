"""How codes are searched, for all methods with binary codes.

================ ==========================================================================
`codes`          how the most promising codes are found
================ ==========================================================================
"asymmetric"     all codes are scanned, and the query keeps its projections y: Σ ± y
"hamming"        all codes are scanned, by the Hamming distance to the query's own bits
"lists"          Charikar's sorted lists with ε = 1: only some of the codes are read
a `Searcher`     that searcher, such as ``SortedLists(epsilon=0.5)``, with the method's code
================ ==========================================================================
"""

from mercer.codes import Sign
from mercer.errors import InputError
from mercer.search import Scan, Searcher, SortedLists

WAYS = ("asymmetric", "hamming", "lists")


def over_codes(code: Sign, codes: str | Searcher) -> Searcher:
    """Return the searcher that `codes` names, over a code.

    Examples
    --------
    >>> from mercer.codes import Sign
    >>> from mercer.methods.coded import over_codes
    >>> over_codes(Sign(None), "hamming")
    Scan(code=Sign(hyperplanes=None), asymmetric=False)
    """
    if isinstance(codes, Searcher):
        return codes.fresh().set_params(code=code)
    if codes not in WAYS:
        raise InputError(f"codes is {codes!r}. Ways are: {', '.join(WAYS)}, or a searcher.")
    return SortedLists(code) if codes == "lists" else Scan(code, codes == "asymmetric")

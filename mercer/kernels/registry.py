"""Kernels by name, and kernels as plain data."""

import difflib
import inspect
from typing import Any, TypeGuard, TypeVar

from mercer.errors import InputError, KernelError
from mercer.kernels import elsewhere, plugins
from mercer.kernels.base import Exp, Kernel, Normalized, ProductKernel, Radial, Scaled, SumKernel
from mercer.kernels.bits import Tanimoto, Tversky
from mercer.kernels.corr import Corr
from mercer.kernels.histograms import Chi2, ExpChi2, Hellinger, Intersection, JensenShannon, MinMax
from mercer.kernels.learned import Learned, Mahalanobis
from mercer.kernels.lengths import Shifted
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.proximity import ProximityDistribution
from mercer.kernels.pyramid_match import PyramidMatch
from mercer.kernels.sets import MaxSim, SumMatch
from mercer.kernels.spatial import SpatialPyramid
from mercer.kernels.transformed import Standardized, Transformed
from mercer.kernels.vectors import RBF, Cosine, Laplacian, Linear, Polynomial
from mercer.kernels.vocabulary import VocabularyPyramid
from mercer.runtime.border import border
from mercer.runtime.params import Params, plain, signature, stored

NAMES: dict[str, type[Kernel]] = {
    "chi2": Chi2,
    "exp_chi2": ExpChi2,
    "intersection": Intersection,
    "jensen_shannon": JensenShannon,
    "hellinger": Hellinger,
    "minmax": MinMax,
    "linear": Linear,
    "cosine": Cosine,
    "polynomial": Polynomial,
    "rbf": RBF,
    "laplacian": Laplacian,
    "tanimoto": Tanimoto,
    "tversky": Tversky,
    "pyramid_match": PyramidMatch,
    "vocabulary_pyramid": VocabularyPyramid,
    "spatial_pyramid": SpatialPyramid,
    "proximity_distribution": ProximityDistribution,
    "sum_match": SumMatch,
    "max_sim": MaxSim,
    "corr": Corr,
}
ALIASES = {
    "additive_chi2": "chi2",
    "bhattacharyya": "hellinger",
    "cos": "cosine",
    "dot": "linear",
    "dot_product": "linear",
    "gaussian": "rbf",
    "histogram_intersection": "intersection",
    "inner_product": "linear",
    "ip": "linear",
    "jaccard": "tanimoto",
    "js": "jensen_shannon",
    "poly": "polynomial",
}
_COMPOSED: dict[str, type[Kernel]] = {
    "sum": SumKernel,
    "product": ProductKernel,
    "scaled": Scaled,
    "exp": Exp,
    "normalized": Normalized,
    "precomputed": Precomputed,
    "radial": Radial,
    "mahalanobis": Mahalanobis,
    "learned": Learned,
    "shifted": Shifted,
    "transformed": Transformed,
    "standardized": Standardized,
}
_registered: dict[str, Kernel] = {}
Named = TypeVar("Named", bound=Kernel | type[Params])


def get(kernel: str | Kernel) -> Kernel:
    """Return a kernel given by name, or the kernel itself.

    Parameters
    ----------
    kernel : str or Kernel
        A name or alias (see `names`), a name given to `register`, one that an installed package
        declares (see `mercer.kernels.plugins`), or a kernel.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.get("additive_chi2")
    Chi2()
    """
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str):
        raise InputError(_describe_stranger(kernel))
    name = ALIASES.get(kernel.lower(), kernel.lower())
    if kernel not in _registered and name in NAMES:
        return _with_defaults(name)
    found = _of_others(kernel)
    if found is None:
        raise InputError(f"no kernel is called {kernel!r}. {_hint(name)}")
    return found


def _of_others(name: str) -> Kernel | None:
    """Return a kernel that was registered, or that an installed package declares, or None."""
    if name not in _registered and (found := plugins.find(name)) is not None:
        _registered[name] = found
    return _registered.get(name)


def _hint(name: str) -> str:
    if (said := elsewhere.said_of(name)) is not None:
        return f"{said}."
    known = [*NAMES, *ALIASES, *_registered, *plugins.names()]
    near = difflib.get_close_matches(name, known, 1)
    return f"Did you mean {near[0]!r}?" if near else f"Names are: {', '.join(names())}."


def is_kernel(value: Any) -> TypeGuard[Kernel]:
    """Whether a value is a kernel, and not the name of one."""
    return isinstance(value, Kernel)


def _with_defaults(name: str) -> Kernel:
    if inspect.Parameter.empty in signature(NAMES[name]).values():
        raise InputError(
            f"the kernel {name!r} needs parameters that depend on the data. Pass a kernel instead "
            f"of its name: kernels.{NAMES[name].__name__}.for_data(X)."
        )
    return NAMES[name]()


def _describe_stranger(given: Any) -> str:
    if isinstance(given, type):
        return f"a kernel is needed, got the class {given.__name__}. Call it: {given.__name__}()."
    if callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        return (
            f"a kernel is needed, got the function {name}. Pass kernels.from_function({name}), for "
            "any items; or decorate it with @mercer.kernel, which compiles functions of two "
            "vectors and is much faster."
        )
    return (
        f"a kernel is needed, got {type(given).__name__}. Pass a name such as 'chi2', a kernel "
        "such as kernels.RBF(gamma=0.5), or decorate your function: @mercer.kernel."
    )


def names() -> list[str]:
    """Return the names of all kernels, without aliases.

    Examples
    --------
    >>> from mercer import kernels
    >>> "chi2" in kernels.names()
    True
    """
    return sorted([*NAMES, *_registered])


@border
def register(name: str, kernel: Named) -> Named:
    """Register a kernel or a part of your own under a name, by which it is found and stored.

    An index stores the name, not the code. Register the same object before saving and before
    loading.

    Parameters
    ----------
    name : str
        A new name; registering it again replaces the earlier object.
    kernel : Kernel, or a class of embeddings, codes or searchers
        The object to register. For a class, the parameters and learned attributes are stored.

    Examples
    --------
    >>> import mercer
    >>> @mercer.kernel
    ... def mine(x, y):
    ...     return (x * y).sum()
    >>> mercer.register("mine", mine)
    mine
    >>> mercer.kernels.get("mine") is mine
    True
    >>> mercer.kernels.unregister("mine")
    """
    if not isinstance(name, str) or not name:
        raise InputError(f"the name is {name!r}. Pass a word such as 'my_kernel'.")
    if name.lower() in {*NAMES, *ALIASES, *_COMPOSED}:
        raise InputError(f"{name!r} is the name of a built-in kernel. Choose another.")
    if isinstance(kernel, type) and issubclass(kernel, Params) and not issubclass(kernel, Kernel):
        stored(kernel, name)
        return kernel
    if not isinstance(kernel, Kernel):
        raise InputError(
            f"got {kernel!r}, not a kernel. Decorate the function with @mercer.kernel "
            "or wrap it in mercer.kernels.from_function."
        )
    _registered[name] = kernel
    return kernel


@border
def unregister(name: str) -> None:
    """Forget a name given to `register`.

    Examples
    --------
    >>> import mercer
    >>> _ = mercer.register("temporary", mercer.kernels.Chi2() + mercer.kernels.RBF())
    >>> mercer.kernels.unregister("temporary")
    """
    if name not in _registered:
        raise InputError(f"{name!r} is not registered. Names: {', '.join(names())}.")
    del _registered[name]


def to_spec(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as plain data: its name and parameters, including any kernels among them.

    Parameters
    ----------
    kernel : Kernel
        A built-in kernel, a combination of such kernels, or a registered kernel.

    Returns
    -------
    dict
        Strings, numbers, dicts, arrays for `Precomputed`, and items for `Learned`.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.to_spec(2.0 * kernels.RBF(gamma=0.5))
    {'name': 'scaled', 'factor': 2.0, 'kernel': {'name': 'rbf', 'gamma': 0.5}}
    """
    for name, mine in _registered.items():
        if mine is kernel:
            return {"name": name}
    for name, cls in (NAMES | _COMPOSED).items():
        if type(kernel) is cls:
            return {"name": name} | {
                key: to_spec(value) if isinstance(value, Kernel) else plain(value)
                for key, value in kernel.get_params(deep=False).items()
            }
    raise KernelError(
        f"cannot store kernel {kernel!r}: code is not data. Register it with "
        f"mercer.register({kernel.label!r}, kernel) before saving and before loading."
    )


@border
def from_spec(spec: dict[str, Any]) -> Kernel:
    """Return the kernel that `to_spec` described.

    Nothing is run, and only kernels that installed packages declare are imported.

    Examples
    --------
    >>> from mercer import kernels
    >>> kernels.from_spec({"name": "rbf", "gamma": 0.5})
    RBF(gamma=0.5)
    """
    if not isinstance(spec, dict):
        raise InputError(f"got {spec!r}. Pass what to_spec returned.")
    name = spec.get("name")
    cls = (NAMES | _COMPOSED).get(str(name))
    if cls is None:
        found = _of_others(str(name))
        if found is not None:
            return found
        raise KernelError(
            f"no kernel is called {name!r}. If it is your own, register it before loading: "
            f"mercer.register({name!r}, kernel); on the command line, --import the module that "
            "does."
        )
    params = {
        key: from_spec(value) if isinstance(value, dict) else value
        for key, value in spec.items()
        if key != "name"
    }
    unknown = set(params) - set(inspect.signature(cls).parameters)
    if unknown:
        raise InputError(
            f"the kernel {name!r} has no parameters {', '.join(sorted(unknown))}. "
            f"It has: {', '.join(inspect.signature(cls).parameters) or 'none'}."
        )
    return cls(**params)

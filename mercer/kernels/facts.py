"""Facts that a kernel declares about itself, on which the rest of the package relies.

The rest of the package does not look at the class of a kernel. A kernel of your own that declares
the same facts as a built-in one is treated the same.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

from mercer.errors import KernelError
from mercer.kernels.prepared import Prepared
from mercer.kernels.similarity import Similarity
from mercer.runtime.arrays import Array


class Homogeneous(NamedTuple):
    """k(x, y) = Σ √(x_i y_i) K(log y_i/x_i), with K the Fourier transform of κ."""

    signature: Callable[[Array], Array]  # K
    density: Callable[[Array], Array]  # κ


class Alike(NamedTuple):
    """A kernel that ranks exactly or nearly as another one does."""

    kernel: Any
    by_distance: bool  # whether the distance in its space ranks alike, rather than its value


class Facts(Similarity):
    """Facts about a kernel, apart from the items it takes; by default, none are declared.

    Attributes
    ----------
    explicit : bool
        Whether φ(x) with k(x, y) = ⟨φ(x), φ(y)⟩ is known and cheap: `features` returns it.
    ranks_as : Kernel or None
        A kernel that orders all items as this one does, whatever the query.
    nearly : Kernel or None
        A kernel with nearly the same values, whose features are cheap.
    by_distance : bool
        Whether it decreases with the distance in the space of the kernel it `wraps`.
    additive : bool
        Whether it is a sum over the features, k(x, y) = Σ κ(x_i, y_i); this and the next three
        are about items as they are kept, which `of_kept` compares.
    homogeneous : Homogeneous or None
        Its signature and spectrum, where the terms of that sum are homogeneous.
    power : int or None
        p, where k(x, y) = exp(-γ Σ |x_i - y_i|^p); `rate` returns γ.
    intersects : bool
        Whether k(x, y) = Σ_b c_b min(n_b(x), n_b(y)), with prepared `bins` and `counts`, and
        `coefficients` c.
    wraps : Kernel or None
        The kernel whose values it is a function of.
    keeps_angles : bool
        Whether it has the angles of the kernel it `wraps`, and only lengths differ.
    is_learned : bool
        Whether it carries a learned metric.
    over : Kernel or None
        The kernel over which a metric was learned, in the span of some basis items.
    positive : bool
        Whether all its values are above 0: one that counts as 0 is then too small to rank.
    ceiling : Kernel or None
        A kernel that is never below this one.
    anchors : Prepared or None
        Items that should be among the landmarks.
    of_kept : Kernel
        The kernel that compares items as they are kept: another one only if it changes items.
    changes : tuple of Kernel
        The kernels in it that change items before they are kept; see `Kernel.of`.
    """

    explicit: bool = False
    by_distance: bool = False
    additive: bool = False
    positive: bool = False
    homogeneous: Homogeneous | None = None
    power: int | None = None
    intersects: bool = False
    is_learned: bool = False
    keeps_angles: bool = False
    ranks_as: Any = None
    nearly: Any = None
    wraps: Any = None
    over: Any = None
    ceiling: Any = None
    _binds: ClassVar[int] = 3  # how tightly the repr binds: 1 sum, 2 product, 3 everything else

    def suited(self, X: Any) -> Any:
        """Return this kernel with open parameters chosen from the data; usually the kernel itself.

        Examples
        --------
        >>> from mercer import kernels
        >>> (2.0 * kernels.RBF()).suited([[0.0], [1.0], [2.0]])
        2.0 * RBF(gamma=0.5)
        """
        return self

    @property
    def anchors(self) -> Prepared | None:
        """Items that should be among the landmarks, prepared for this kernel, or None."""
        return None

    def features(self, P: Prepared) -> Any:
        """Return φ of prepared items, float32, dense or sparse, shape (len(P), d)."""
        raise KernelError(f"{self!r} does not know φ(x). Its values are all there is.")

    def rate(self, n_features: int) -> float:
        """Return γ of a kernel that has a `power`."""
        raise KernelError(f"{self!r} has no rate.")

    def stretch(self, P: Prepared) -> Any:
        """Return |φ(x)| of items relative to that of `angles_of`."""
        return 1.0

    @property
    def angles_of(self) -> Any:
        """The innermost kernel with the same angles of kept items; lengths may differ."""
        return self.wraps.angles_of if self.keeps_angles else self

    @property
    def changes(self) -> tuple[Any, ...]:
        """The kernels in it that change items before they are kept."""
        return ()

    @property
    def of_kept(self) -> Any:
        """The kernel that compares items as they are kept."""
        return self

    @property
    def innermost(self) -> Any:
        """The kernel inside all that wrap another one."""
        return self if self.wraps is None else self.wraps.innermost

    def alike(self) -> Iterator[Alike]:
        """Yield this kernel and those that rank as it does, exactly or nearly.

        Examples
        --------
        >>> from mercer import kernels
        >>> list(kernels.ExpChi2().exp(2.0).alike())[-1]
        Alike(kernel=Hellinger(), by_distance=True)
        """
        kernel, by_distance = self, False
        while kernel is not None:
            yield Alike(kernel, by_distance)
            if kernel.by_distance:
                kernel, by_distance = kernel.wraps, True
            elif kernel.nearly is not None or by_distance:  # the same order is not enough here
                kernel = kernel.nearly
            else:
                kernel = kernel.ranks_as

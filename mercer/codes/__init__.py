"""Codes: vectors as a few bytes, and queries in the form that is compared with them."""

from mercer.codes.base import Code
from mercer.codes.product import Product
from mercer.codes.sign import Sign

__all__ = ["Code", "Product", "Sign"]


def __dir__() -> list[str]:
    return __all__

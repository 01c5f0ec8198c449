"""Codes: vectors to a few bytes, and what a query keeps to be compared with them."""

from mercer.codes.base import Code
from mercer.codes.product import Product
from mercer.codes.sign import Sign

__all__ = ["Code", "Product", "Sign"]

"""Numbers: 38 significant digits, from 1E-130 to 9.99…E+125, each in one canonical form."""

from __future__ import annotations

import re
from decimal import Context, Decimal, Inexact, InvalidOperation

from entrepot.engine.errors import Validation

Number = int | float | Decimal

DIGITS_MAX = 38
EXPONENT_MAX = 125
EXPONENT_MIN = -130

# Wide enough that no product of a parse or a sum of two legal numbers is ever rounded unseen.
_WIDE = Context(prec=600, Emax=999_999, Emin=-999_999)
_ROUND_38 = Context(prec=DIGITS_MAX, Emax=999_999, Emin=-999_999)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
_INT_FAST = 10**17

OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"
NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"


def number_from_text(text: str) -> Number:
    """Reads a number as it stands in DynamoDB JSON."""
    if not text:
        raise Validation(NOT_A_NUMBER)
    if text.isdecimal() and text.isascii() and len(text) <= DIGITS_MAX:
        return int(text)
    if not _NUMBER.fullmatch(text):
        raise Validation(f"{NOT_A_NUMBER}: {text}")
    return canonical(_WIDE.create_decimal(text))


def number_to_text(number: Number) -> str:
    """Writes a number as DynamoDB answers it: no exponent, no trailing zeros."""
    if type(number) is int:
        return str(number)
    if type(number) is float:
        text = repr(number)
        return text if "e" not in text else format(Decimal(text), "f")
    return format(exact(number), "f")


def exact(number: Number) -> Decimal:
    """The decimal that a number means; for a float, its shortest text."""
    if type(number) is float:
        return Decimal(repr(number))
    return Decimal(number)


def canonical(number: Number) -> Number:
    """The one form of a number, or the error that DynamoDB gives for one that it can't keep."""
    if type(number) is int:
        if -_INT_FAST < number < _INT_FAST:
            return number
        return _canonical_decimal(Decimal(number))
    if type(number) is float:
        if number != number or number in (float("inf"), float("-inf")):
            raise Validation(f"{NOT_A_NUMBER}: {number}")
        if number.is_integer():
            return canonical(int(Decimal(repr(number))))
        if 1e-130 <= abs(number) < 1e125:
            return number
        return _canonical_decimal(Decimal(repr(number)))
    return _canonical_decimal(Decimal(number))


def round_to_digits(number: Decimal) -> Number:
    """The result of arithmetic, in canonical form; DynamoDB keeps 38 digits of a sum."""
    return canonical(_ROUND_38.plus(number))


def add(left: Number, right: Number) -> Number:
    if type(left) is int and type(right) is int:
        total = left + right
        if -_INT_FAST < total < _INT_FAST:
            return total
    return _sum(exact(left), exact(right))


def subtract(left: Number, right: Number) -> Number:
    if type(left) is int and type(right) is int:
        total = left - right
        if -_INT_FAST < total < _INT_FAST:
            return total
    return _sum(exact(left), -exact(right))


def _sum(left: Decimal, right: Decimal) -> Number:
    return round_to_digits(_WIDE.add(left, right))


def _canonical_decimal(number: Decimal) -> Number:
    if not number.is_finite():
        raise Validation(f"{NOT_A_NUMBER}: {number}")
    if not number:
        return 0
    exponent = number.adjusted()
    if exponent > EXPONENT_MAX:
        raise Validation(OVERFLOW)
    if exponent < EXPONENT_MIN:
        raise Validation(UNDERFLOW)
    number = _stripped(number)
    if len(number.as_tuple().digits) > DIGITS_MAX:
        raise Validation(TOO_PRECISE)
    if number == number.to_integral_value():
        return int(number)
    as_float = float(number)
    # The float form is kept only where reading its text back gives the very same number.
    if Decimal(repr(as_float)) == number:
        return as_float
    return number


def _stripped(number: Decimal) -> Decimal:
    try:
        return number.normalize(
            Context(prec=DIGITS_MAX, Emax=999_999, Emin=-999_999, traps=[Inexact, InvalidOperation])
        )
    except Inexact:
        raise Validation(TOO_PRECISE) from None

"""Recurrences between the Taylor coefficients of functions of one series, or of two.

All are for lists from order 0, in which None is a coefficient that is zero. See Griewank and
Walther, *Evaluating Derivatives*, chapter 13.
"""

from collections.abc import Callable

from steinwise.target.series.moving import Coefficient, Series, add, multiply, subtract


def product(a: Series, b: Series) -> list[Coefficient]:
    """a b."""
    return [product_at(a, b, k) for k in range(len(a))]


def square(a: Series) -> list[Coefficient]:
    """a^2."""
    return [square_at(a, k) for k in range(len(a))]


def square_at(a: Series, k: int) -> Coefficient:
    """(a^2)_k: each pair of different coefficients is multiplied once."""
    half = None
    for i in range((k + 1) // 2):
        half = add(half, multiply(a[i], a[k - i]))
    total = multiply(half, 2.0)
    return total if k % 2 else add(total, multiply(a[k // 2], a[k // 2]))


def quotient(a: Series, b: Series, first: Coefficient = None) -> list[Coefficient]:
    """a / b; `first` is its coefficient of order 0, if it is known."""
    inverse = 1 / b[0]
    out: list[Coefficient] = [multiply(a[0], inverse) if first is None else first]
    for k in range(1, len(a)):
        rest = a[k]
        for i in range(1, k + 1):
            rest = subtract(rest, multiply(b[i], out[k - i]))
        out.append(multiply(rest, inverse))
    return out


def solved(
    x: Series, first: Coefficient, latest: Callable[[list[Coefficient]], Coefficient]
) -> list[Coefficient]:
    """y with y' = w x', where `latest` gives w_k from y_0, ..., y_k."""
    y, w, slopes = [first], [], derivative(x)
    for k in range(1, len(x)):
        w.append(latest(y))
        y.append(multiply(product_at(slopes, w, k - 1), 1 / k))
    return y


def derivative(x: Series) -> list[Coefficient]:
    """x'."""
    return [multiply(c, float(i)) for i, c in enumerate(x[1:], 1)]


def integrated(x: Series, first: Coefficient, w: Series) -> list[Coefficient]:
    """y with y' = w x'."""
    return solved(x, first, lambda y: w[len(y) - 1])


def exponential(x: Series, first: Coefficient) -> list[Coefficient]:
    """y = first exp(x - x_0), that is y' = y x'."""
    return solved(x, first, lambda y: y[-1])


def logarithm(x: Series, first: Coefficient) -> list[Coefficient]:
    """y with y' = x' / x."""
    inverse = 1 / x[0]
    y, slopes = [first], []  # slopes: i y_i, from i = 1
    for k in range(1, len(x)):
        terms = None
        for i in range(1, k):
            terms = add(terms, multiply(x[k - i], slopes[i - 1]))
        y.append(multiply(subtract(x[k], multiply(terms, 1 / k)), inverse))
        slopes.append(multiply(y[k], float(k)))
    return y


def power(x: Series, exponent: Coefficient, first: Coefficient) -> list[Coefficient]:
    """y = x^exponent, that is x y' = exponent y x'; the base is not 0."""
    inverse = 1 / x[0]
    y = [first]
    for k in range(1, len(x)):
        total = None
        for i in range(1, k + 1):
            term = multiply(x[i], y[k - i])
            if term is not None:
                total = add(total, term * ((exponent * i - (k - i)) / k))
        y.append(multiply(total, inverse))
    return y


def composed(taylor: Series, x: Series) -> list[Coefficient]:
    """f(x), from the Taylor coefficients of f at x_0."""
    order = len(x) - 1
    if all(c is None for c in x[2:]):  # f_k x_1^k
        out, x_power = [taylor[0]], x[1]
        for k in range(1, order + 1):
            out.append(multiply(taylor[k], x_power))
            x_power = multiply(x_power, x[1])
        return out
    step = [None, *x[1:]]
    out = [taylor[order]] + [None] * order
    for k in reversed(range(order)):
        out = product(out, step)
        out[0] = taylor[k]
    return out


def product_at(a: Series, b: Series, k: int) -> Coefficient:
    """(a b)_k."""
    total = None
    for i in range(k + 1):
        total = add(total, multiply(a[i], b[k - i]))
    return total

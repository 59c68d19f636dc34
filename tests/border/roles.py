"""Bad values by the role of an argument: what must be refused, and the words of the refusal.

An argument has a role, such as "a whole number, at least 1" or "draws". A role has a value that is
right, so that any public function can be called, and values that are wrong. `entrances.py` finds
the arguments of all public functions and gives each its role: a new function meets all of these
values at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import steinwise as sw

D = 2
X = np.random.default_rng(0).normal(size=(40, D))


class Untouched(sw.Gaussian):
    """A target that may be asked for its dimension and no more: nothing is computed with it."""

    def _touched(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the density was evaluated before the input was checked")

    score = log_values = line_scores = line_values = direction_values = _touched
    normal_along = block_scores = _touched


@dataclass(frozen=True)
class Bad:
    """A value that must be refused, by an error whose message holds some words.

    "{argument}" in the words stands for the name of the argument.
    """

    value: Any
    words: tuple[str, ...]
    error: type[Exception] = sw.InputError
    label: str = ""


@dataclass(frozen=True)
class Role:
    """What an argument stands for: a value that is right and values that are wrong."""

    good: Any
    bad: tuple[Bad, ...]

    def or_none(self) -> "Role":
        """The same role for an argument that may be None."""
        return replace(self, bad=tuple(case for case in self.bad if case.value is not None))

    def also(self, *more: Bad) -> "Role":
        """The same role with further bad values."""
        return replace(self, bad=self.bad + more)


def refused(*values: Any, words: Sequence[str] = ("{argument}", "expected")) -> tuple[Bad, ...]:
    """Several values with the same words: by default, which argument it is and what may come."""
    return tuple(Bad(value, tuple(words), label=_label(value)) for value in values)


def _label(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array{value.shape} {value.dtype}"
    if callable(value) or " at 0x" in repr(value):  # an address differs from worker to worker
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, (set, frozenset)):  # whose order differs from worker to worker
        return f"{type(value).__name__} {sorted(map(str, value))}"[:40]
    return repr(value)[:40]


# --- numbers ---------------------------------------------------------------------------------

NO_NUMBERS = (
    "ten",
    "",
    b"1",
    None,
    [1],
    (),
    {},
    {3},
    1j,
    object(),
    np.array([3, 4]),
    sw.kernels.RBF,
)
NOT_FINITE = (float("nan"), float("inf"), float("-inf"))


def whole(least: int = 1) -> Role:
    numbers = (2.5, 3.0, "3", True, least - 1, -7, np.float64(3.0), np.array(3.5))
    return Role(max(least, 3), refused(*NO_NUMBERS, *NOT_FINITE, *numbers))


POSITIVE = Role(0.5, refused(*NO_NUMBERS, *NOT_FINITE, 0, 0.0, -1, -0.5, True, "0.5"))
AT_LEAST_0 = Role(0.5, refused(*NO_NUMBERS, *NOT_FINITE, -1, -1e-9, True, "0.5"))
SHARE = POSITIVE.also(*refused(1, 1.0, 1.5, 1e300))
LEVEL = SHARE.also(*refused(1e-320, words=("{argument}",)))
POSITIVES = Role(
    1.0,
    refused(
        *(value for value in NO_NUMBERS if not isinstance(value, (list, np.ndarray))),
        *NOT_FINITE,
        *(0, -1.0, True, "Median", [], [1.0, -1.0], [[1.0, 2.0]], [1.0, "a"], [1.0, float("nan")]),
    ),
)
BANDWIDTH = POSITIVES.also(*refused(1e-320, 1e-200))  # their squares are 0
FLAG = Role(
    True,
    refused("False", "no", "", 0, 1, 0.0, None, [False], [], {}, object(), np.array([True, False])),
)


def choice(*options: str) -> Role:
    """One of a few words."""
    wrong = ("nonsense", "", options[0].upper(), f" {options[0]}", None, 7, True, [options[0]])
    return Role(options[0], refused(*wrong, np.array(options), object(), b"u"))


# --- what every verb takes -------------------------------------------------------------------

SEED = Role(
    0,
    refused(
        *(-1, 1.5, float("nan"), "0", "", None, True, [0], [], {}, object()),
        *(np.random.default_rng(0), np.array([1, 2]), np.array([-1]), np.zeros(0, np.uint32)),
        *(np.zeros((2, 2), np.uint32), np.float64(3)),
    ),
)
MEMORY = Role(
    "1GiB",
    refused("lots", "", "GB", "1 apple", "-1GB", "1GB 2", "nan", None, True, [2**30], 1j, {})
    + refused(float("nan"), float("inf"), "1e400GB", -(2**30), words=("memory",))
    + refused(0, "1KB", 1000, words=("memory", "1MiB")),
)
NAMES = Role(
    None,
    refused("ab", "a", 7, 2.5, [1, 2], ["a", None], [["a"], ["b"]], True, b"ab", np.array([1, 2]))
    + refused({"a", "b"}, frozenset({"a", "b"}), words=("names", "order"))
    + refused(["a"], ["a", "b", "c"], [], words=("given for 2 coordinates",))
    + refused(["a", "a"], words=("the name 'a'", "more than one coordinate")),
)


def _with(index: Any, value: float) -> np.ndarray:
    changed = X.copy()
    changed[index] = value
    return changed


class Closed:
    """Something that looks like an array and fails when it is read."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise OSError("the file is closed")


class NoColumns:
    """Something that looks like a data frame."""

    columns = 7


MASKED = np.ma.masked_greater(X, 1.0)
DRAWS = Role(
    X,
    refused(None, 3, 2.5, "draws.npy", object(), {"mu": X}, words=("draws",))
    + refused([], np.zeros(0), words=("draws", "shape"))
    + refused(np.zeros((0, 2)), np.zeros((2, 0)), np.zeros((3, 0, 2)), words=("nothing to check",))
    + refused(X[:, 0], X[0], words=("draws have shape", "expected (n, d)"))
    + refused(X[None, None], words=("draws have shape", "4 axes"))
    + refused(X[:1], X[None, :1], words=("at least 2 draws",))
    + refused(np.zeros((5, 3, 2)), words=("order of the axes",))
    + refused([[0.1, 0.2], [0.3]], X.astype(object), words=("draws",))
    + refused(X.astype(str), X.astype(complex), X.astype(np.longdouble), words=("dtype",))
    + refused(X.astype("datetime64[s]"), X.astype("timedelta64[s]"), words=("dtype",))
    + refused((9 * X).astype(int), X > 0, words=("dtype", "expected floats"))
    + refused(MASKED, words=("masked",))
    + refused(np.zeros(4, dtype=[("a", float)]), Closed(), NoColumns(), words=("draws",))
    + (
        Bad(_with((3, 1), np.nan), ("NaN or infinite", "index (3, 1)"), label="a NaN"),
        Bad(_with((3, 1), np.inf), ("NaN or infinite", "index (3, 1)"), label="an infinity"),
        Bad(_with((3, 1), 1e200), ("beyond", "index (3, 1)"), label="1e200"),
        Bad(_with((slice(None), 1), 1.0), ("never change", "x[1] = 1"), label="a constant"),
        Bad(1e-160 * X, ("varies by only", "underflows"), label="a range of 1e-160"),
        Bad(np.cumsum(X, axis=0), ("autocorrelated", "draws[None]"), label="a chain as (n, d)"),
        Bad(np.stack([X, X + 1, X]), ("chains 0 and 2 are the same",), label="equal chains"),
    ),
)
# where draws are only places to look at, nothing is asked about their dependence
OF_DEPENDENCE = ("a chain as (n, d)", "equal chains")
PLACES = replace(DRAWS, bad=tuple(case for case in DRAWS.bad if case.label not in OF_DEPENDENCE))


# --- densities -------------------------------------------------------------------------------


def two_values(x: Any) -> Any:
    return -(x**2)


def complex_value(x: Any) -> Any:
    return 1j * jnp.sum(x)


def whole_value(x: Any) -> Any:
    return jnp.argmax(x)


def no_value(x: Any) -> None:
    return None


def fails(x: Any) -> Any:
    raise KeyError("mu")


def takes_two(x: Any, y: Any) -> Any:
    return jnp.sum(x * y)


def takes_three_coordinates(x: Any) -> Any:
    return -(x[0] ** 2) - x[2] ** 2


def uses_numpy(x: Any) -> Any:
    return float(np.sum(np.asarray(x) ** 2))


def _densities(*functions: Callable, words: Sequence[str]) -> tuple[Bad, ...]:
    return tuple(Bad(f, tuple(words), sw.TargetError, f.__name__) for f in functions)


TARGET = Role(
    Untouched(np.zeros(D), np.eye(D)),
    refused(None, 3, "density", [two_values], {}, X, words=("target is of type", "expected"))
    + refused(sw.Gaussian(np.zeros(3), np.eye(3)), words=("2 coordinates", "target has 3"))
    + _densities(two_values, complex_value, whole_value, no_value, words=("log density",))
    + _densities(fails, takes_two, uses_numpy, words=("log density",))
    + _densities(takes_three_coordinates, words=("coordinates",)),
)
SOURCE = Role(
    {"draws": "run7.npz"},
    refused(3, "run7.npz", ["draws"], {"draws": 7}, {7: "draws"}, words=("source", "expected")),
)
FUNCTION = Role(
    lambda *given: -0.5 * jnp.sum(given[-1] ** 2),
    refused(None, 3, "f", [], {}, X, words=("{argument}", "expected")),
)
SCORES = Role(
    -X,
    refused(None, 3, 2.5, "scores.npy", [], {}, object(), {"mu": X}, words=("scores", "expected"))
    + refused(X[0], X[None, None], X.astype(int), X.astype(object), words=("scores", "expected"))
    + refused([[0.1], [0.2, 0.3]], lambda x: -x, words=("scores", "sw.Target.from_score")),
)
MEAN = Role(
    np.zeros(D),
    refused(None, 0.0, "a", [], ["a", "b"], [0, [1]], [[0.0, 0.0]], [0.0], 1j * X[0], object())
    + refused(np.ma.masked_greater([0.0, 2.0], 1.0), words=("masked",))
    + refused([0, np.nan], [0, np.inf], words=("not finite",)),
)
SUPPORT = Role(
    sw.support.real,
    refused(None, 3, "positive", [], X, object(), ["real"], {"a": 3}, words=("support is",))
    + refused({1.5: sw.support.real}, {None: sw.support.real}, words=("support has the key",)),
)
WHOLE_END = Role(
    None,
    refused(1.5, "0", True, float("inf"), float("nan"), 2**60, [0], {}, object(), np.zeros(2)),
)
INTERVAL_END = Role(
    None, refused("0", None, True, float("nan"), [0.0], {}, 1j, object(), np.zeros(2))
)
SUPPORT_VALUES = Role(
    [0, 1],
    refused(None, 3, "ab", {}, [], [1], [1, 1], [0, float("nan")], [[0, 1]], ["a", "b"], object()),
)
COVARIANCE = Role(
    np.eye(D),
    refused(None, 1.0, "a", [], [1.0, 1.0], [[1.0], [0, 1]], np.eye(3), 1j * np.eye(D), object())
    + refused(np.ma.masked_greater(np.eye(D), 0.5), words=("masked",))
    + refused(np.full((D, D), np.nan), np.diag([1.0, np.inf]), words=("not finite",))
    + refused([[1.0, 0.5], [0.0, 1.0]], words=("not symmetric",))
    + refused(-np.eye(D), np.ones((D, D)), np.zeros((D, D)), words=("not positive definite",)),
)


# --- what methods take -----------------------------------------------------------------------

KERNEL = Role(sw.kernels.RBF(1.0), refused("rbf", 3, None, {}, [], sw.kernels.RBF, object()))
KERNELS = KERNEL.also(*refused([sw.kernels.RBF], ["rbf"], ()))
A_STAND_IN = sw.conditionals.Linear()
CONDITIONAL = Role(A_STAND_IN, refused("linear", 3, None, [], sw.conditionals.Linear, object()))
COORDINATES = Role(
    [0],
    refused([], "x[0]", {0}, {"x[0]": 1}, 1.5, True, [0, 0], [0, "x[0]"], object())
    + refused(0, -1, words=("coordinates is", "at least 1"))
    + refused(["nope"], [2], [-1], [0.0], [True], [None], [[0]], [np.nan], words=("no coordinate",))
    + refused(np.array([[0]]), np.array([0.5]), words=("coordinate",)),
)
BLOCKS = Role(
    [[0], [1]],
    refused(
        "ab",
        3,
        [],
        [[0]],
        [[0], [0]],
        [[0], [5]],
        [["nope"], [1]],
        [0, 1],
        [[], [0, 1]],
        words=("block",),
    ),
)
SPLIT = Role(
    (0.2, 0.1, 0.7),
    refused(
        *((0.5, 0.5), (0.5, 0.5, 0.5), (1, 0, 0), (-0.1, 0.4, 0.7), (), "abc", None, 0.5, {}),
        *((np.nan, 0.5, 0.5), (np.nan,) * 3, (np.inf, -np.inf, 1.0), (True, 0.0, 0.0)),
        *(("0.2", "0.1", "0.7"), ([0.2], [0.1], [0.7]), np.full((3, 3), 1 / 3)),
    ),
)
LOCATIONS = Role(
    3,
    refused(0, -1, 2.5, True, "a", [], np.zeros(3), np.zeros((0, 2)), {}, object(), X.astype(str))
    + refused(_with((0, 0), np.nan), _with((0, 0), np.inf), words=("locations", "NaN or infinite")),
)
PRECONDITIONER = Role(
    "id",
    refused(
        "median", "", 3, None, np.eye(3), np.full((2, 2), np.nan), 1j * np.eye(2), [[1], [0, 1]]
    )
    + refused([[1.0, 0.5], [0.0, 1.0]], words=("preconditioner", "not symmetric"))
    + refused(-np.eye(2), words=("preconditioner", "not positive definite")),
)
GRAPH = Role(
    [(0, 1)],
    refused("ab", 3, True, object(), np.eye(3), np.ones(2), words=("graph", "expected"))
    + refused([[0.5, 0], [0, 1]], [(0, 5)], [(0,)], [0, 1], {0: [7]}, {"a": ["b"]}, words=("edge",))
    + refused(np.array([[0, 1], [0, 0]]), 0.5 * np.ones((2, 2)), words=("graph", "symmetric")),
)
TARGET_DRAWS = Role(
    None,
    refused(3, "a", [], np.zeros(3), _with((0, 0), np.nan), lambda: X, words=("target_draws",)),
)
BANDWIDTHS = Role(
    3,
    refused(0, 1, -1, 2.5, True, "a", "median", None, [], [1.0, -1.0], [1.0, np.nan], [[1.0, 2.0]])
    + refused(object(), {}),
)


def some_of(*options: str) -> Role:
    """Some of a few words."""
    wrong = (
        options[0],
        [],
        (),
        ["nonsense"],
        [options[0], options[0]],
        None,
        3,
        [3],
        [[options[0]]],
    )
    return Role([options[0]], refused(*wrong, {options[0]}, object(), words=("{argument}",)))


# --- models, sets and parameters -------------------------------------------------------------

GOOD_TARGET = TARGET.good
MODELS = Role(
    {"a": GOOD_TARGET, "b": GOOD_TARGET},
    refused(None, 3, "ab", [], {}, {"a": GOOD_TARGET}, [GOOD_TARGET, GOOD_TARGET], GOOD_TARGET)
    + refused({1: GOOD_TARGET, "1": GOOD_TARGET}, words=("look the same", "'1'"))
    + refused({"a": GOOD_TARGET, "b": 3}, words=("b: target is of type",)),
)
SETS = Role(
    {"a": X, "b": X + 0.1},
    refused(None, 3, "ab", [], {}, {"a": X}, [X, X], X)
    + refused({1: X, "1": X}, words=("look the same", "'1'"))
    + refused({"a": X, "b": X[:, :1]}, words=("different numbers of coordinates",))
    + tuple(
        Bad({"a": X, "b": case.value}, ("b:", *case.words), case.error, f"b: {case.label}")
        for case in DRAWS.bad
    ),
)
THETA = Role(
    {"a": 1.0},
    refused(None, "a", [], {}, {"a": "b"}, 1j, object(), 10**400, [1.0, "a"], True)
    + refused(np.nan, [1.0, np.inf], {"a": np.nan}, words=("theta0",)),
)
START = Role(
    np.zeros((3, D)),
    refused(
        None,
        0.0,
        "a",
        [],
        {},
        object(),
        [[0.0], [0.0, 1.0]],
        1j * np.zeros((3, D)),
        words=("start",),
    )
    + refused(np.zeros((0, D)), {"a": np.zeros((3, 1)), "b": np.zeros((2, 1))}, words=("start",))
    + refused(_with((0, 0), np.nan), _with((0, 0), np.inf), words=("start", "NaN or infinite")),
)
DATA = Role(
    np.zeros((9, 1)),
    refused(None, 3, "a", [], {}, (np.zeros((3, 1)), np.zeros((2, 1))), words=("data",)),
)


def stays(key: Any, x: Any) -> Any:
    return x["a"]


BLOCK_DRAWS = Role(
    {"a": stays},
    refused(None, 3, "ab", [], {}, [stays], words=("conditionals",))
    + refused({"a": 3}, {"a": None}, words=("conditional of 'a'",)),
)
STAND_INS = Role(
    [A_STAND_IN],
    refused(3, "ab", [], [3], ["linear"], [sw.conditionals.Linear], A_STAND_IN, object()),
)


def first_column(x: Any) -> Any:
    return x[:, 0]


def first_row(x: Any) -> Any:
    return x[0]


def not_a_number(x: Any) -> Any:
    return np.full(len(x), np.nan)


FUNCTIONS = Role(
    {"first": first_column},
    refused(3, "ab", [first_column], first_column, object(), words=("functions", "expected"))
    + refused({"a": 3}, {"a": None}, {"a": "x"}, words=("functions['a']", "expected"))
    + refused({"x[0]": first_column}, words=("name of a coordinate",))
    + refused({1: first_column, "1": first_column}, words=("look the same",))
    + refused({"a": first_row}, words=("functions['a']", "one real number per draw"))
    + refused({"a": not_a_number}, words=("functions['a']", "finite")),
)
QUANTILES = Role(
    (0.5,),
    refused(0.5, "0.5", None, {0.5}, object(), (), words=("quantiles", "expected"))
    + refused((0.0,), (1.0,), (1.5,), (-0.1,), (np.nan,), ("a",), (None,), words=("quantiles",))
    + refused((0.5, 0.5), words=("quantiles", "once")),
)

# --- what tests of samplers take -------------------------------------------------------------

EXACT_TARGET = Role(
    sw.testing.targets("normal")[0],
    refused(None, 3, "normal", [], X, object(), lambda x: -x, sw.Gaussian([0.0], [[1.0]])),
)
FUNCTIONS_OF_A_POINT = Role({}, refused(3, "f", [], [max], max, {"a": 3}, {1: max}, {None: max}))
MOMENTS = Role(
    np.ones(D),
    refused(None, 1.0, "a", [], ["a", "b"], [1.0], [[1.0, 1.0]], 1j * X[0], object())
    + refused([1.0, np.nan], [1.0, np.inf]),
)
MODEL_NAME = Role("mine", refused(None, 3, "", [], ["a"], True))


def simulated(key: Any, theta: Any = None) -> Any:
    return jax.random.normal(key, (D,)) + (0.0 if theta is None else theta)


SIMULATED_MODEL = Role(
    sw.testing.SimulatedModel("mine", ("a", "b"), simulated, simulated, lambda theta, _: theta[0]),
    refused(None, 3, "normal", [], X, object(), EXACT_TARGET.good),
)
TUPLE_OF_NAMES = Role(("a", "b"), refused(None, 3, "ab", [], (), ("a", "a"), (1, 2), {"a", "b"}))

# --- what results are asked for --------------------------------------------------------------

COORDINATE = Role(
    "x[0]", refused("nope", "", None, 0, 7, ["x[0]"], object(), words=("coordinate",))
)
SUMMARY = Role(None, refused(3, "a", True, [], {}, object(), words=("summary", "expected")))
SET_NAME = Role(
    "a", refused("nope", "", None, 0, ["a"], object(), words=("there is no", "expected"))
)

"""A single BLAS thread for products of small matrices.

The matrices of a check are small: BLAS threads gain nothing on them, and they spin while they wait
for each other, which slows down the sampler or the other chains that run on the same machine.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Run a function with a single BLAS thread.

    For functions of our own that do linear algebra on small matrices: the user's code must not run
    inside, since it may want all threads.
    """

    @wraps(function)
    def limited(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited

"""Draws from InferenceData, DataTree, Dataset, netCDF and zarr, read without ArviZ."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steinwise._internal.escaping import clause_of, printable
from steinwise._internal.optional import require
from steinwise.adapters.common import Variable
from steinwise.errors import InputError

# of the files that `read_group` opens; the command line reads this list
SUFFIXES = (".nc", ".netcdf", ".h5", ".zarr")


def read_group(
    container: Any,
    group: str,
    var_names: Sequence[str] | str | None = None,
    coords: Mapping[str, Any] | None = None,
) -> Any:
    """One group of a container as an xarray Dataset, or a part of it.

    Of a file nothing else is read: no other group, and no variable that is not in `var_names`.
    """
    if isinstance(container, (str, os.PathLike)):
        return _read_file(Path(container), group, var_names, coords)
    return _select(_group_of(container, group), var_names, coords)


def has_group(container: Any, group: str) -> bool:
    """Whether an InferenceData or a DataTree has a group; False for anything else.

    One without variables does not count: PyMC 6 gives a fit such statistics of the sampler.
    """
    if hasattr(container, "children") and hasattr(container, "to_dataset"):
        return group in container.children and bool(container.children[group].data_vars)
    if hasattr(container, "groups") and not hasattr(container, "data_vars"):
        return group in [name.strip("/") for name in container.groups()]
    return False


def _group_of(container: Any, group: str) -> Any:
    if hasattr(container, "children") and hasattr(container, "to_dataset"):  # a DataTree
        node, groups = container.children.get(group), list(container.children)
        if node is None and "draw" in container.dims:
            node = container  # the user passed the group itself
        if node is not None:
            return node.to_dataset()
    elif hasattr(container, "data_vars"):  # a Dataset
        return container
    elif hasattr(container, "groups"):  # an InferenceData
        groups = [name.strip("/") for name in container.groups()]
        if group in groups:
            return getattr(container, group)
    else:
        raise InputError(
            f"the draws are of type {type(container).__name__}: expected an InferenceData, a "
            "DataTree, an xarray Dataset, or the path of a netCDF or zarr file."
        )
    raise InputError(f"there is no group {group!r}: the container has {groups}. Pass group=.")


def _read_file(
    path: Path,
    group: str,
    var_names: Sequence[str] | str | None,
    coords: Mapping[str, Any] | None,
) -> Any:
    xarray = require("xarray", "io", "reading a file")
    shown = printable(str(path))
    try:
        if not path.exists():
            raise InputError(f"there is no file {shown}.")
        if path.is_dir():
            _refuse_pickles(path)
        # groups always have metadata of their own, but consolidated metadata may be missing
        options = {"engine": "zarr", "consolidated": False} if path.is_dir() else {}
        with xarray.open_dataset(path, group=group, **options) as dataset:
            return _select(dataset, var_names, coords).load()
    except (InputError, ModuleNotFoundError):
        raise
    except Exception as error:  # a broken file can make its reader raise anything
        raise InputError(
            f"group {group!r} of {shown} cannot be read: {clause_of(error)}. ArviZ saves the draws "
            "in the group 'posterior'; pass group= for another."
        ) from error


def _refuse_pickles(path: Path) -> None:
    """Refuse zarr arrays of Python objects: their metadata can ask for unpickling."""
    for metadata in (*path.rglob(".zarray"), *path.rglob("zarr.json")):
        if '"pickle"' in metadata.read_text("utf-8").lower():
            raise InputError(
                f"the array {metadata.parent.relative_to(path)} of {path} holds pickled Python "
                "objects, which can run any code and are never loaded. Save it as numbers or text."
            )


def _select(
    dataset: Any, var_names: Sequence[str] | str | None, coords: Mapping[str, Any] | None
) -> Any:
    """The variables `var_names` of a dataset at the labels `coords`."""
    if var_names is not None:
        if isinstance(var_names, (set, frozenset)):
            raise InputError("var_names is a set, which has no order: expected a list of names.")
        wanted = [var_names] if isinstance(var_names, str) else list(var_names)
        if len(set(wanted)) < len(wanted):
            raise InputError(f"var_names has a name twice: {wanted}.")
        unknown = [name for name in wanted if name not in dataset.data_vars]
        if unknown:
            raise InputError(
                f"var_names has {unknown[0]!r}: the draws have {list(dataset.data_vars)}."
            )
        dataset = dataset[wanted]
    if coords:
        unknown = [name for name in coords if name not in dataset.dims]
        if unknown:
            raise InputError(f"coords has {unknown[0]!r}: the dimensions are {list(dataset.dims)}.")
        kept = {  # a list, so that the dimension stays
            name: [value] if isinstance(value, str) or not hasattr(value, "__iter__") else value
            for name, value in coords.items()
            if not isinstance(value, slice)
        }
        slices = {name: value for name, value in coords.items() if isinstance(value, slice)}
        try:
            dataset = dataset.sel(kept | slices)
        except KeyError as error:
            raise InputError(f"coords has a label that the draws do not have: {error}") from error
    return dataset


def variables(dataset: Any) -> dict[str, Variable]:
    """Every variable of a dataset that has draws, with the labels of its entries."""
    if "draw" not in dataset.dims:
        raise InputError(
            f"the draws have dimensions {list(dataset.dims)}: expected 'chain' and 'draw'. "
            "If az.extract stacked the draws, dataset.unstack('sample') undoes it."
        )
    if "chain" not in dataset.dims:
        dataset = dataset.expand_dims("chain")
    with_draws = {}
    for name, array in dataset.data_vars.items():
        if "draw" not in array.dims:
            continue
        ordered = array.transpose("chain", "draw", ...)
        index = tuple(tuple(map(str, ordered[dim].values)) for dim in ordered.dims[2:])
        with_draws[str(name)] = Variable(ordered.values, index)
    return with_draws

"""Draws from InferenceData, DataTree, Dataset, netCDF and zarr, read without ArviZ."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steinwise._internal.optional import require
from steinwise.adapters.common import Variable
from steinwise.errors import InputError

# of the files that `read_group` opens; the command line reads this list
SUFFIXES = (".nc", ".netcdf", ".h5", ".zarr")


def read_group(container: Any, group: str) -> Any:
    """One group of a container as an xarray Dataset; no other group is read."""
    if isinstance(container, (str, os.PathLike)):
        return _open(Path(container), group)
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


def _open(path: Path, group: str) -> Any:
    xarray = require("xarray", "io", "reading a file")
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    if path.is_dir():
        _refuse_pickles(path)
    # groups always have metadata of their own, but consolidated metadata may be missing
    options = {"engine": "zarr", "consolidated": False} if path.is_dir() else {}
    try:
        with xarray.open_dataset(path, group=group, **options) as dataset:
            return dataset.load()
    except (KeyError, OSError) as error:
        raise InputError(
            f"group {group!r} of {path} cannot be read: {error}. ArviZ saves the draws in "
            "the group 'posterior'; pass group= for another."
        ) from error


def _refuse_pickles(path: Path) -> None:
    """Refuse zarr arrays of Python objects: their metadata can ask for unpickling."""
    for metadata in (*path.rglob(".zarray"), *path.rglob("zarr.json")):
        if '"pickle"' in metadata.read_text("utf-8").lower():
            raise InputError(
                f"the array {metadata.parent.relative_to(path)} of {path} holds pickled Python "
                "objects, which can run any code and are never loaded. Save it as numbers or text."
            )


def select(
    dataset: Any, var_names: Sequence[str] | str | None, coords: Mapping[str, Any] | None
) -> Any:
    """The variables `var_names` of a dataset at the labels `coords`."""
    if var_names is not None:
        wanted = [var_names] if isinstance(var_names, str) else list(var_names)
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

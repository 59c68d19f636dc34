"""Draws in InferenceData, DataTree, Dataset, netCDF and zarr, read without ArviZ."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steinwise._internal.optional import require
from steinwise.adapters.common import Variable
from steinwise.errors import InputError


def read_group(container: Any, group: str) -> Any:
    """The group as an xarray Dataset; everything else in the container is left alone."""
    if isinstance(container, (str, os.PathLike)):
        return _open(Path(container), group)
    if hasattr(container, "children") and hasattr(container, "to_dataset"):  # a DataTree
        found, groups = container.children.get(group), list(container.children)
        if found is None and "draw" in container.dims:
            found = container  # the node of the group itself
        if found is not None:
            return found.to_dataset()
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
    # metadata of single groups are always there, consolidated ones need not be
    options = {"engine": "zarr", "consolidated": False} if path.is_dir() else {}
    try:
        with xarray.open_dataset(path, group=group, **options) as dataset:
            return dataset.load()
    except (KeyError, OSError) as error:
        raise InputError(
            f"group {group!r} of {path} cannot be read: {error}. Files of ArviZ hold the draws in "
            "the group 'posterior'; pass group= for another."
        ) from error


def _refuse_pickles(path: Path) -> None:
    """A zarr array of Python objects may say in its metadata that it is to be unpickled."""
    for metadata in (*path.rglob(".zarray"), *path.rglob("zarr.json")):
        if '"pickle"' in metadata.read_text("utf-8").lower():
            raise InputError(
                f"the array {metadata.parent.relative_to(path)} of {path} holds pickled Python "
                "objects, which can run any code and are never loaded. Save it as numbers or text."
            )


def select(
    dataset: Any, var_names: Sequence[str] | str | None, coords: Mapping[str, Any] | None
) -> Any:
    """The part of a dataset that `var_names` and `coords` name."""
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
            raise InputError(f"coords names a label that the draws do not have: {error}") from error
    return dataset


def variables(dataset: Any) -> dict[str, Variable]:
    """Every variable of the dataset that has draws, with the labels of its coordinates."""
    if "draw" not in dataset.dims:
        raise InputError(
            f"the draws have dimensions {list(dataset.dims)}: expected 'chain' and 'draw'. "
            "Draws that az.extract has stacked come back by dataset.unstack('sample')."
        )
    if "chain" not in dataset.dims:
        dataset = dataset.expand_dims("chain")
    found = {}
    for name, array in dataset.data_vars.items():
        if "draw" not in array.dims:
            continue
        ordered = array.transpose("chain", "draw", ...)
        index = tuple(tuple(map(str, ordered[dim].values)) for dim in ordered.dims[2:])
        found[str(name)] = Variable(ordered.values, index)
    return found

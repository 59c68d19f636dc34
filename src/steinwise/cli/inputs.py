"""What a command is given to read: files of draws, and the density of one target file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import steinwise
from steinwise._internal.coordinates import choose_coordinates
from steinwise._internal.escaping import printable
from steinwise._internal.memory import budget_bytes
from steinwise._internal.run_source import source_of_run
from steinwise.adapters.containers import SUFFIXES as CONTAINER_SUFFIXES
from steinwise.cli.target_file import load_target, split_target
from steinwise.draws.files import read_draws, read_scores
from steinwise.draws.input_checks import coordinate_names
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget, as_target


@dataclass(frozen=True)
class Inputs:
    """The options that say what the draws and the density are."""

    target: str | None  # this, or a file of scores
    space: str | None
    var_names: str | None
    group: str | None
    independent: bool | None
    memory: str
    scores: Path | None = None  # at the draws

    @property
    def files(self) -> list[Path]:
        """The files that are read besides those of draws."""
        of_target = [] if self.target is None else [split_target(self.target)[0]]
        return of_target if self.scores is None else [*of_target, self.scores]

    def source(self, path: Path, arguments: Sequence[str]) -> dict[str, str]:
        """What a page says about where its draws come from."""
        given = {"scores": self.scores} if self.target is None else {"target": self.target}
        density = {name: str(value) for name, value in given.items()}
        return source_of_run(str(path), density, arguments)

    @cached_property
    def loaded_target(self) -> Any:
        assert self.target is not None
        return load_target(self.target)

    def read_set(self, name: str, path: Path) -> tuple[Samples, AbstractTarget]:
        """One of several sets; an error in its file is reported with its name."""
        try:
            return self.read(path)
        except InputError as error:
            raise InputError(f"{printable(name)}: {error}") from error

    def read(
        self,
        path: Path,
        names: list[str] | None = None,
        coordinates: int | list[str] | None = None,
    ) -> tuple[Samples, AbstractTarget]:
        """The draws of a file, and the density that they are to be checked against.

        Names and coordinates that do not fit the draws are refused before a target is loaded.
        """
        path = path.absolute()  # the target, when it is loaded, may change the working directory
        if path.suffix.lower() in CONTAINER_SUFFIXES:
            return self._read_container(path)
        given = {"--space": self.space, "--var-names": self.var_names, "--group": self.group}
        for option, value in given.items():
            if value is not None:
                raise InputError(f"{option} goes with netCDF and zarr; {path} has neither.")
        memory = budget_bytes(self.memory)
        samples = read_draws(path, self.independent, memory)
        labels = samples.names if names is None else coordinate_names(names, samples.dim)
        if coordinates is not None:
            choose_coordinates(coordinates, labels)
        if self.scores is None:
            return samples, as_target(self.loaded_target)
        scores = read_scores(self.scores.absolute(), samples.names, memory)
        return samples, steinwise.Target.at_draws(scores)

    def _read_container(self, path: Path) -> tuple[Samples, AbstractTarget]:
        if self.scores is not None:
            raise InputError(
                f"--scores goes with draws in an array or a table, in the same order; {path} has "
                "named variables. Save both as .npy, or pass --target."
            )
        if self.space is None:
            raise InputError(
                f"{path} may hold constrained parameters. Say --space unconstrained if the density "
                "takes them as they are, or --space model if NAME is the model they come from."
            )
        names = None if self.var_names is None else self.var_names.split(",")
        group = "posterior" if self.group is None else self.group
        options = {"var_names": names, "group": group, "independent": self.independent}
        target = self.loaded_target
        if self.space == "model":
            return steinwise.from_arviz(path, target, **options)
        return steinwise.from_arviz(path, "unconstrained", target=target, **options)


def split_names(text: str) -> list[str]:
    """Names between commas; those inside of brackets belong to a name.

    >>> split_names("mu, theta[0, 1],tau")
    ['mu', 'theta[0, 1]', 'tau']
    """
    return [name.strip() for name in re.split(r",(?![^\[]*\])", text)]


def count_or_names(text: str) -> int | list[str]:
    """A number of coordinates, or their names.

    >>> count_or_names("5"), count_or_names("mu,tau")
    (5, ['mu', 'tau'])
    """
    return int(text) if text.strip().isdecimal() else split_names(text)

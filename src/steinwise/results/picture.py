"""A figure that shows itself in a notebook. Imported where one is drawn: it needs matplotlib."""

from io import BytesIO

from matplotlib.figure import Figure


class Picture(Figure):
    """A matplotlib figure with an image for notebooks, whether pyplot is set up in them or not.

    Notebooks draw plain figures only after ``%matplotlib inline``, or an import of pyplot. Where
    that has happened, its image takes the place of this one.

    >>> Picture()._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        with BytesIO() as image:
            self.savefig(image, format="png")
            return image.getvalue()

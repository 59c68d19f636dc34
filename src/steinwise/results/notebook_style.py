"""What a notebook needs to show tables and reports as they are meant, and nothing around them."""

# Colours come from the notebook: light or dark. The class is named twice where JupyterLab has a
# rule with two: it aligns the cells of tables to the right, and gives text whose columns are lined
# up by spaces the font of its paragraphs.
STYLE = (
    "<style>.steinwise{max-width:60rem}.steinwise table{border-collapse:collapse;margin:.5rem 0}"
    ".steinwise.steinwise th,.steinwise.steinwise td"
    "{padding:.2rem .6rem;text-align:left;vertical-align:top}"
    ".steinwise .verdict{border-left:.4rem solid #0072B2;padding:.4rem .8rem;margin:.3rem 0}"
    ".steinwise .verdict.misfit{border-color:#D55E00}"
    ".steinwise tr.misfit td:last-child{font-weight:600}"
    ".steinwise .picture{background:#fff;max-width:46rem}"
    ".steinwise .picture svg{width:100%;height:auto}"
    ".steinwise.steinwise pre{font-family:var(--jp-code-font-family,monospace)}</style>"
)


def framed(content: str) -> str:
    """Markup with the style, which reaches nothing outside of it."""
    return f'<div class="steinwise">\n{STYLE}\n{content}\n</div>'

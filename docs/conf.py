"""The site: `make docs` builds it into out/docs, with every warning an error.

Nothing in it comes from the network. Formulas become MathML when the site is built, which browsers
show without a script.
"""

import html
import re
import sys

import steinwise

project = "steinwise"
author = "the steinwise developers"
project_copyright = author
release = version = steinwise.__version__

# autodoc finds docstrings of data only in what is a module under the name that the page gives
sys.modules["steinwise.support"] = steinwise.support

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["pictures"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
default_role = "code"  # single backquotes in docstrings are code

html_theme = "furo"
html_title = f"steinwise {release}"
html_math_renderer = "mathml"
html_static_path = ["style"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_use_index = html_domain_indices = False  # long lists that no page links to
html_show_search_summary = False  # excerpts are fetched, which a browser refuses for local files

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # shapes and types are in the source; the pages say them in words
autodoc_default_options = {"exclude-members": "__init__, __new__"}
napoleon_google_docstring = False
napoleon_use_rtype = False


def mathml(latex, display):
    """A formula as MathML; a formula that cannot be translated stops the build."""
    from latex2mathml.converter import convert  # only `make docs` has it

    latex = " ".join(latex.split()).replace(r"\arg", r"\operatorname{arg}")
    formula = convert(latex, display="block" if display else "inline")
    if "\\" in formula:  # commands that the converter does not know are left as they are
        raise ValueError(f"the formula {latex} has a command that cannot be translated")
    # "log p" is two names, which need a space between them
    return re.sub(r"(<mi>(log|exp)</mi>)(?=<m(i|sub)>)", r'\1<mspace width="0.17em"/>', formula)


def visit_inline(translator, node):
    from docutils import nodes

    translator.body.append(mathml(node.astext(), display=False))
    raise nodes.SkipNode


def visit_block(translator, node):
    from docutils import nodes

    label = f' id="{html.escape(node["ids"][0])}"' if node["ids"] else ""
    formula = mathml(node.astext(), display=True)
    translator.body.append(f'<div class="math"{label}>{formula}</div>')
    raise nodes.SkipNode


def without_last_empty_line(app, doctree):  # noqa: ARG001
    """End blocks of code at their last line: examples have an empty one, which doctest needs."""
    from docutils import nodes

    for block in doctree.findall(nodes.literal_block):
        block.rawsource = block.rawsource.rstrip("\n")
        block[:] = [nodes.Text(block.rawsource)]


def setup(app):
    app.connect("doctree-read", without_last_empty_line)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True}

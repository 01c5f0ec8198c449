"""Sphinx settings: everything a page needs is in the built folder, formulas included."""

import re
from importlib import metadata

from docutils import nodes
from latex2mathml.converter import convert

project = "mercer"
author = "The mercer developers"
release = metadata.version("mercer")

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
default_role = "py:obj"  # `mercer.kernel` in a docstring is a link
pygments_style = "friendly"
pygments_dark_style = "github-dark"

html_theme = "furo"
html_title = f"mercer {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the types stand in the docstrings
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


def visit_math(translator, node):
    """Write a formula as MathML, which browsers draw by themselves."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_displayed_math(translator, node):
    """Write a formula on a line of its own."""
    translator.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def escape_bars(app, what, name, obj, options, lines):
    """Keep |x∩y| in docstrings as it is: reStructuredText would look for a substitution."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith(">>>") and "``" not in line:
            lines[number] = re.sub(r"(?<!\\)\|(?=\S)", r"\\|", line)


def setup(app):
    """Register what is defined here."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_math, None), block_renderers=(visit_displayed_math, None)
    )
    app.connect("autodoc-process-docstring", escape_bars)

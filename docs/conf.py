"""How the documentation is built: `make docs`. Nothing here or in the pages asks a network."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import tightrope  # noqa: E402
from pages.command_line import command_line  # noqa: E402
from pages.gallery import gallery  # noqa: E402
from pages.reference import more  # noqa: E402

project = "tightrope"
author = "The tightrope developers"
release = version = tightrope.__version__
project_copyright = author

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["build", "generated", "pages", "**/.*"]
nitpicky = True
smartquotes = False  # an option is --json, with two hyphens
default_role = "py:obj"

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

# One script that needs no fonts or other files. The package is not used as an extension: it would
# copy all of MathJax.
SPEC = find_spec("sphinx-mathjax-offline")
if SPEC is None or SPEC.origin is None:
    sys.exit("sphinx-mathjax-offline is not installed; pip install '.[docs]'")
MATHJAX = Path(SPEC.origin).parent / "static" / "mathjax" / "tex-svg.js"

# pages with wide tables have the width of the screen for them
WIDE = [f"benchmarks/{page.stem}" for page in (HERE / "benchmarks").glob("*.md")]
html_theme = "pydata_sphinx_theme"
html_title = "tightrope"
html_logo = "static/mark.svg"
html_favicon = "static/mark.svg"
html_static_path = ["static", str(MATHJAX)]
mathjax_path = MATHJAX.name
html_css_files = ["house.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "tightrope"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in WIDE}},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
WITHOUT_SIDEBAR = ("index", "start", "install", "tutorial", "concepts", "gallery")
html_sidebars: dict[str, list[str]] = {page: [] for page in WITHOUT_SIDEBAR}


def link_public_name(app: Any, env: Any, node: Any, word: Any) -> Any:
    """A word in a docstring's backticks links where the reference has it, and is code elsewhere."""
    if node.get("reftype") != "obj":
        return None
    target, page = f"tightrope.{node['reftarget']}", node["refdoc"]
    found = env.get_domain("py").resolve_xref(env, page, app.builder, "obj", target, node, word)
    return found or word


def setup(app: Any) -> None:
    """Write the parts that come from the library itself, before any page is read."""
    app.connect("missing-reference", link_public_name)
    made = HERE / "generated"
    made.mkdir(exist_ok=True)
    (made / "command-line.md").write_text(command_line())
    (made / "more.md").write_text(more(HERE / "reference"))
    (made / "gallery.md").write_text(gallery(made / "gallery", "generated/gallery"))

"""README.md as the site's first page, so that no text is kept twice."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages, and README.md with its links as seen from docs/."""
    readme = Path(config.docs_dir).with_name("README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=readme.replace("](docs/", "](")))
    return files

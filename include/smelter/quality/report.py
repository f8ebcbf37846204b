"""The report: Great Expectations' Data Docs, made from the results that are kept. Only new pages are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from smelter.lake.home import Lake
from smelter.quality.gx import new_context, quiet
from smelter.quality.results import Kept, kept_results

SITE = "report"
_SITE_NAME = "quality"


def build_report(lake: Lake) -> Path:
    """Bring the report up to date; the path of its first page. Pages of results that are gone go with them."""
    site = lake.quality / SITE
    kept = kept_results(lake)
    with quiet():
        context = new_context()
        _set_up(context, site)
        taken = {one: _take(context, one) for one in kept}  # all of them: the first page tells of those only
        new = [one for one in kept if not one.page(site).exists()] or kept[-1:]
        context.build_data_docs(resource_identifiers=[taken[one] for one in new])
    return site / "index.html"


def newest_pages(lake: Lake) -> dict[str, Path]:
    """The newest page of each dataset in the report."""
    return {kept.dataset: kept.page(lake.quality / SITE) for kept in kept_results(lake)}


def _set_up(context: Any, site: Path) -> None:
    """One site, in the lake."""
    words = {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder", "show_cta_footer": False},
        "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(site)},
    }
    context.add_data_docs_site(_SITE_NAME, words)


def _take(context: Any, kept: Kept) -> Any:
    """Give a kept result to the context; the name by which it knows it."""
    from great_expectations.core.run_identifier import RunIdentifier
    from great_expectations.data_context.types.resource_identifiers import (
        ExpectationSuiteIdentifier,
        ValidationResultIdentifier,
    )

    run = RunIdentifier(run_name=kept.run, run_time=kept.at)
    identifier = ValidationResultIdentifier(ExpectationSuiteIdentifier(kept.dataset), run, kept.what)
    store = context.validation_results_store
    store.set(identifier, store.deserialize(kept.file.read_text("utf-8")))
    return identifier

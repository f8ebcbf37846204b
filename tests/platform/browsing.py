"""A real browser: Debian's chromium, driven by Playwright. What it sees is kept as pictures."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

PROJECT = Path(__file__).resolve().parents[2]
PICTURES = PROJECT / os.environ.get("SCREENSHOTS", "build/screenshots")
CHROMIUM = "/usr/bin/chromium"
_PATIENCE = 30_000


def ensure_chromium() -> None:
    """Install the browser if it is missing and we may; else say what is missing."""
    if shutil.which(CHROMIUM):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip("there is no browser: apt-get install chromium")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", "--quiet", *words], env=quiet, check=True, capture_output=True)


@dataclass
class Browser:
    """One window of a person who uses the platform."""

    page: Page
    url: str

    def log_in(self, user: str, password: str) -> None:
        self.page.goto(f"{self.url}/")
        self.page.get_by_label("Username").fill(user)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(lambda url: "login" not in url)

    def show(self, picture: str, path: str, *texts: str) -> None:
        """Open a page, wait until it shows the texts, and keep a picture of it."""
        self.page.goto(f"{self.url}{path}")
        for text in texts:
            expect(self.page.get_by_text(text).first).to_be_visible(timeout=_PATIENCE)
        self.keep(picture)

    def keep(self, picture: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{picture}.png")

    def fill_backfill(self, dataset: str, day: str) -> None:
        """Open the form, say since when, ask for a dry run, and trigger it."""
        self.page.goto(f"{self.url}/dags/backfill_{dataset}")
        self.page.get_by_role("button", name="Trigger").first.click()
        self.page.get_by_text("Select date and time").first.click()
        self.page.get_by_placeholder("YYYY/MM/DD").fill(day)
        self.page.get_by_placeholder("HH:mm").fill("00:00")
        self.page.get_by_text("Since", exact=True).click()  # leaves the calendar
        self.page.locator('[id="switch:element_dry_run"]').click()
        self.keep("form")
        self.page.get_by_role("dialog").get_by_role("button", name="Trigger").click()

    def fill_replay(self, dataset: str, reason: str) -> None:
        """Open the form, choose whose letters and which, and trigger it."""
        self.page.goto(f"{self.url}/dags/replay_dead_letters")
        self.page.get_by_role("button", name="Trigger").first.click()
        for field, choice in (("dataset", dataset), ("reason", reason)):
            self.page.locator(f'[id="element_{field}"]').click()
            self.page.get_by_role("option", name=choice, exact=True).click()
        self.page.get_by_role("dialog").get_by_role("button", name="Trigger").click()

    def fill_maintenance(self, *tables: str, steps: tuple[str, ...]) -> None:
        """Open the form, name tables, choose steps, ask for a dry run, and trigger it."""
        self.page.goto(f"{self.url}/dags/maintenance")
        self.page.get_by_role("button", name="Trigger").first.click()
        self.page.locator('[id="element_tables"]').fill("\n".join(tables) + "\n")
        for step in steps:
            self.page.locator('[id="element_steps"]').click()
            self.page.get_by_role("option", name=step, exact=True).click()
        self.page.locator('[id="switch:element_dry_run"]').click()
        self.page.get_by_role("dialog").get_by_role("button", name="Trigger").click()

    def decide(self, option: str, subject: str, *texts: str, picture: str = "") -> None:
        """Find what waits for an answer, read the plan, and give one."""
        self.page.goto(f"{self.url}/required_actions")
        self.page.get_by_role("link", name=subject).click()
        for text in texts:
            expect(self.page.get_by_text(text).first).to_be_visible(timeout=_PATIENCE)
        if picture:
            self.keep(picture)
        self.page.get_by_role("button", name=option).click()


@contextmanager
def a_browser(url: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1360, "height": 860})
        page.set_default_timeout(_PATIENCE)
        yield Browser(page, url)
        chromium.close()

"""The report in a real headless Chromium (make test-browser)."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

import steinwise as sw

ATTACK = "<script>alert(1)</script>"
NAMES = ["mu", ATTACK, "theta[0, 1]", "theta[10]", "log_tau"]
PICTURES = Path("out") / "browser"


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(400, 5)) * [1, 1, 0.6, 1, 1] + [0, 1, 0, 0, 0]
    result = sw.check(draws, sw.Gaussian(np.zeros(5), np.eye(5)), names=NAMES)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(result.to_html(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser: webdriver.Chrome, page: Path) -> webdriver.Chrome:
    browser.get_log("browser")
    browser.get_log("performance")
    browser.set_window_size(1000, 900)
    browser.get(page.as_uri())
    return browser


def rows(browser: webdriver.Chrome) -> list[WebElement]:
    found = browser.find_elements(By.CSS_SELECTOR, "#coordinates tbody tr")
    return [row for row in found if row.is_displayed()]


def names(browser: webdriver.Chrome) -> list[str]:
    return browser.execute_script(
        "return Array.from(document.querySelectorAll('#coordinates tbody tr'))"
        ".filter((row) => row.offsetParent !== null).map((row) => row.cells[0].textContent)"
    )


def header(browser: webdriver.Chrome, name: str) -> WebElement:
    return browser.find_element(By.XPATH, f"//thead//button[text()='{name}']")


def test_it_renders_alone(opened: webdriver.Chrome, page: Path) -> None:
    """Catches a script that fails, and anything that is fetched."""
    verdict = opened.find_element(By.CSS_SELECTOR, ".verdict")
    assert verdict.text.startswith("Misfit.")
    assert opened.find_element(By.CSS_SELECTOR, ".picture svg").size["width"] > 300
    assert opened.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    sent = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in sent if not url.startswith("data:")] == [page.as_uri()]


def test_a_name_stays_text(opened: webdriver.Chrome) -> None:
    assert ATTACK in names(opened)
    assert len(opened.find_elements(By.TAG_NAME, "script")) == 1
    # an alert would make this raise
    assert opened.execute_script("return document.title") == "steinwise report"


def test_it_sorts_numbers_as_numbers_and_names_as_names(opened: webdriver.Chrome) -> None:
    header(opened, "sd ratio").click()
    spreads = [
        float(row.find_elements(By.CSS_SELECTOR, "td.number")[1].text) for row in rows(opened)
    ]
    assert spreads == sorted(spreads)
    cell = header(opened, "sd ratio").find_element(By.XPATH, "..")
    assert cell.get_attribute("aria-sort") == "ascending"
    header(opened, "sd ratio").click()
    assert cell.get_attribute("aria-sort") == "descending"
    header(opened, "coordinate").click()
    ordered = names(opened)
    assert ordered.index("theta[0, 1]") < ordered.index("theta[10]")


def test_it_filters(opened: webdriver.Chrome) -> None:
    search = opened.find_element(By.ID, "search-coordinates")
    search.send_keys("THETA")
    assert set(names(opened)) == {"theta[0, 1]", "theta[10]"}
    assert opened.find_element(By.ID, "shown-coordinates").text == f"2 of {len(NAMES)} rows"
    search.clear()
    search.send_keys(Keys.SPACE, Keys.BACKSPACE)
    assert len(rows(opened)) == len(NAMES)


def test_it_works_by_keyboard(opened: webdriver.Chrome) -> None:
    """Tab reaches the search, the table and its headers; Enter sorts."""
    reached = []
    opened.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    for _ in range(3):
        reached.append(opened.switch_to.active_element)
        opened.switch_to.active_element.send_keys(Keys.TAB)
    assert [element.tag_name for element in reached] == ["input", "div", "button"]
    cell = reached[2].find_element(By.XPATH, "..")
    assert cell.get_attribute("aria-sort") is None
    reached[2].send_keys(Keys.ENTER)
    assert cell.get_attribute("aria-sort") == "ascending"


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1000), ("dark", 1000), ("light", 360), ("dark", 360)]
)
def test_it_is_readable_in_light_and_dark_wide_and_narrow(
    opened: webdriver.Chrome, scheme: str, width: int
) -> None:
    """Contrast of at least 4.5 to 1, and nothing wider than the screen but the table's own box."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    PICTURES.mkdir(parents=True, exist_ok=True)
    opened.save_screenshot(str(PICTURES / f"{scheme}-{width}.png"))
    assert opened.execute_script("return document.documentElement.scrollWidth") <= width
    for selector in ("body", ".verdict", ".quiet", "tr.misfit .verdict-text", "dt"):
        assert contrast(opened, selector) >= 4.5, selector
    if width < 500:  # a phone shows verdicts without scrolling, and how far off coordinates are
        box = opened.find_element(By.CSS_SELECTOR, ".scroll")
        room = "return arguments[0].clientWidth - arguments[0].scrollWidth"
        assert opened.execute_script(room, box) >= 0
        titles = opened.find_elements(By.CSS_SELECTOR, "#coordinates th button")
        shown = {title.text for title in titles if title.is_displayed()}
        assert {"mean error", "sd ratio", "adjusted p", "verdict"} <= shown
    opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_table_of_chains_fits_a_wide_screen(browser: webdriver.Chrome, tmp_path: Path) -> None:
    """Catches a last column that is cut off by those of ESS and R-hat."""
    draws = np.random.default_rng(0).normal(size=(4, 300, 5)) * [1, 1, 0.6, 1, 1]
    draws[..., 4] += 0.5 * draws[..., 3]  # so that there is a direction, whose label is long
    result = sw.check(draws, sw.Gaussian(np.zeros(5), np.eye(5)), names=NAMES)
    path = tmp_path / "chains.html"
    path.write_text(result.to_html(), encoding="utf-8")
    browser.set_window_size(1100, 900)
    browser.get(path.as_uri())
    box = browser.find_element(By.CSS_SELECTOR, ".scroll")
    room = "return arguments[0].clientWidth - arguments[0].scrollWidth"
    assert browser.execute_script(room, box) >= 0
    heading = header(browser, "R-hat").find_element(By.XPATH, "..")
    assert heading.value_of_css_property("white-space") == "nowrap"


# the rules of JupyterLab 4 that reach into an output
JUPYTERLAB = """
.jp-RenderedHTMLCommon { font-family: sans-serif }
.jp-OutputArea-output pre { line-height: inherit; font-family: inherit }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th { vertical-align: middle; padding: 0.5em }
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td,
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon th { text-align: right }
"""


def test_a_notebook_shows_tables_and_reports_as_they_are_meant(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    """Catches verdicts that are aligned to the right, and columns of a report out of line."""
    draws, target = np.random.default_rng(0).normal(size=(100, 2)), sw.Gaussian([0, 0], np.eye(2))
    result = sw.check(draws, target)
    shown = [result, result.coordinates, sw.thin(draws, target, 5)]
    outputs = (one._repr_html_() for one in shown)
    boxes = "".join(
        f'<div class="jp-RenderedHTMLCommon jp-OutputArea-output">{output}</div>'
        for output in outputs
    )
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html><style>{JUPYTERLAB}</style>{boxes}", encoding="utf-8")
    browser.get(path.as_uri())
    cells = browser.find_elements(By.CSS_SELECTOR, "td, th")
    assert len({cell.find_element(By.XPATH, "ancestor::table") for cell in cells}) == 2
    assert {cell.value_of_css_property("text-align") for cell in cells} == {"left"}
    report = browser.find_element(By.TAG_NAME, "pre")
    assert report.value_of_css_property("font-family") == "monospace"


def test_it_prints(opened: webdriver.Chrome) -> None:
    """On paper there is nothing to search with, and no scroll bar hides a column."""
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not opened.find_element(By.ID, "search-coordinates").is_displayed()
    box = opened.find_element(By.CSS_SELECTOR, ".scroll")
    assert box.value_of_css_property("overflow-x") == "visible"
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(opened.print_page()) > 10_000


def test_it_speaks_to_a_screen_reader(opened: webdriver.Chrome) -> None:
    """Catches an input without a label, a picture without a name, a table without headers."""
    nodes = opened.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    said = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]
    assert ("searchbox", "Find a coordinate or a verdict") in said
    assert ("region", "Coordinates") in said
    assert {name for role, name in said if role == "rowheader"} == set(NAMES)
    assert all(name for role, name in said if role in ("image", "img", "button"))
    assert [name for role, name in said if role == "status"]


def test_five_thousand_coordinates_stay_usable(browser: webdriver.Chrome, tmp_path: Path) -> None:
    draws = np.random.default_rng(0).normal([0.0, 1.0], 1.0, size=(100, 2))
    result = sw.check(draws, sw.Gaussian([0, 0], np.eye(2)))
    one = result.coordinates[0]
    many = tuple(
        replace(one, name=f"theta[{k}]", adjusted_pvalue=0.001 if k == 4321 else 1.0)
        for k in range(5000)
    )
    result = replace(result, findings=replace(result.findings, coordinates=many, pit=None))
    path = tmp_path / "many.html"
    path.write_text(result.to_html(), encoding="utf-8")
    browser.get(path.as_uri())
    assert names(browser)[0] == "theta[4321]"
    browser.find_element(By.ID, "search-coordinates").send_keys("4321")
    assert browser.find_element(By.ID, "shown-coordinates").text == "1 of 1000 rows"
    browser.find_element(By.ID, "search-coordinates").clear()
    browser.find_element(By.ID, "search-coordinates").send_keys(Keys.SPACE)
    header(browser, "coordinate").click()
    assert names(browser)[:2] == ["theta[0]", "theta[1]"]


def contrast(browser: webdriver.Chrome, selector: str) -> float:
    script = """
    let e = document.querySelector(arguments[0]); const text = getComputedStyle(e).color;
    while (e && /rgba\\(0, 0, 0, 0\\)|transparent/.test(getComputedStyle(e).backgroundColor))
      e = e.parentElement;
    return [text, getComputedStyle(e).backgroundColor];
    """

    def luminance(color: str) -> float:
        channels = [float(c) / 255 for c in color[color.index("(") + 1 : -1].split(",")[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    one, other = sorted(map(luminance, browser.execute_script(script, selector)), reverse=True)
    return (one + 0.05) / (other + 0.05)

"""The report in a real headless Chromium (make test-browser)."""

import json
from collections.abc import Iterator
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
    return [row.find_element(By.CSS_SELECTOR, "th").text for row in rows(browser)]


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
    header(opened, "sd").click()
    spreads = [
        float(row.find_elements(By.CSS_SELECTOR, "td.number")[1].text) for row in rows(opened)
    ]
    assert spreads == sorted(spreads)
    cell = header(opened, "sd").find_element(By.XPATH, "..")
    assert cell.get_attribute("aria-sort") == "ascending"
    header(opened, "sd").click()
    assert cell.get_attribute("aria-sort") == "descending"
    header(opened, "coordinate").click()
    ordered = names(opened)
    assert ordered.index("theta[0, 1]") < ordered.index("theta[10]")


def test_it_filters(opened: webdriver.Chrome) -> None:
    search = opened.find_element(By.ID, "search")
    search.send_keys("THETA")
    assert set(names(opened)) == {"theta[0, 1]", "theta[10]"}
    assert opened.find_element(By.ID, "shown").text == f"2 of {len(NAMES)} rows"
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
    opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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

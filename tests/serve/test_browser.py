"""The page in a browser, as a person uses it: typing, pointing, keys, options, files, errors, a phone, dark mode.

With CAPFST_SCREENSHOTS=FOLDER, the pictures of docs/service.md are written there (docs/images).
"""

import json
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.service import MANY, Service, request, serving, wait_until_it_works

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SECONDS = 30
DESKTOP, PHONE = (1200, 720), (390, 844)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not installed"),
]


class Page:
    """The page of a service in a browser."""

    def __init__(self, browser: "webdriver.Chrome", service: Service) -> None:
        self.browser, self.service = browser, service

    def open(self, size: tuple[int, int] = DESKTOP, dark: bool = False) -> "Page":
        width, height = size
        is_phone = size == PHONE
        screen = {"width": width, "height": height, "deviceScaleFactor": 2 if is_phone else 1, "mobile": is_phone}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.browser.get(self.service.url)
        self.wait(lambda: self.word("US"))
        return self

    def wait(self, condition) -> None:
        WebDriverWait(self.browser, SECONDS, 0.05).until(lambda _: condition())

    def __getitem__(self, name: str):
        return self.browser.find_element(By.ID, name)

    @property
    def recased(self) -> str:
        return self.browser.execute_script("return [...recased.children].map((line) => line.textContent).join('\\n')")

    def word(self, text: str):
        """Return the word of the recased text, or None."""
        words = self.browser.find_elements(By.XPATH, f"//button[contains(@class, 'word')][text()='{text}']")
        return words[0] if words else None

    def type(self, text: str) -> None:
        self["text"].send_keys(Keys.CONTROL, "a")
        if max(text) <= "\uffff":
            self["text"].send_keys(text)
        else:  # some drivers have no keys for such characters
            set_text = "text.value = arguments[0]; text.dispatchEvent(new InputEvent('input', {bubbles: true}))"
            self.browser.execute_script(set_text, text)

    def wait_for(self, recased: str) -> None:
        self.wait(lambda: self.recased == recased)

    def why(self) -> str:
        self.wait(self["why"].is_displayed)
        return self["why"].text

    def select(self, name: str, value: str) -> None:
        self[name].find_element(By.CSS_SELECTOR, f"option[value='{value}']").click()

    def is_within(self) -> bool:
        """Return whether nothing is wider than the page."""
        return self.browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")

    def shoot(self, name: str) -> None:
        if folder := os.environ.get("CAPFST_SCREENSHOTS"):
            self.browser.save_screenshot(str(Path(folder, name)))


@pytest.fixture(scope="module")
def browser() -> Iterator["webdriver.Chrome"]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER)) as browser:
        yield browser


@pytest.fixture
def page(browser, service) -> Page:
    return Page(browser, service).open()


def test_the_page_begins_with_an_example_whose_changes_are_marked(page):
    assert page.recased.splitlines()[0] == "Mr. Brown told us that he wore a brown coat for the US Navy"
    kinds = {
        kind: [each.text for each in page["recased"].find_elements(By.CLASS_NAME, kind)]
        for kind in ("sure", "likely", "doubt")
    }
    assert kinds["sure"] == ["Mr", "US"]
    assert kinds["likely"] and kinds["doubt"]
    page.shoot("service.png")


def test_text_is_recased_while_it_is_typed_and_late_answers_are_dropped(page):
    page.type("new york")
    page.wait_for("New York")
    for letter in " has new information":
        page["text"].send_keys(letter)
    page.wait_for("New York has new information")
    page.type("the us\n\nthe 𝔄 us navy")
    page.wait_for("the US\n\nthe 𝔄 US Navy")
    page.wait(lambda: page["status"].get_attribute("textContent") == "3 words changed")


def test_lines_of_a_long_text_are_asked_for_once(page):
    n_asked = "return performance.getEntriesByType('resource').filter((each) => each.name.endsWith('recase')).length"
    text, counts = "𝔄", []
    for n_lines in (1_100, 1):
        text += "".join(f"\n{n_lines} {k}" for k in range(n_lines))
        page.type(text)
        page.wait(lambda: page.recased == text and page["recased"].get_attribute("class") == "")  # noqa: B023
        counts.append(page.browser.execute_script(n_asked))
    assert counts[1] == counts[0] + 1


def test_text_is_never_markup(page):
    text = "<img src=x onerror=alert(1)> <b>new york</b> &amp;"
    page.type(text)
    page.wait(lambda: page.recased.lower() == text)
    assert page["recased"].find_elements(By.TAG_NAME, "img") == []
    page.browser.find_element(By.XPATH, "//button[text()='onerror']").click()
    assert "stays as it is" in page.why()


def test_pointing_at_a_word_shows_why_and_a_casing_becomes_one_of_the_words(page):
    ActionChains(page.browser).move_to_element(page.word("US")).perform()
    assert "from “us”" in page.why()
    page.shoot("service-why.png")
    ActionChains(page.browser).move_to_element(page["text"]).perform()
    page.wait(lambda: not page["why"].is_displayed())
    page.word("brown").click()  # a word that has not changed
    page.wait(lambda: "brown" in page.why())
    page["why"].find_element(By.XPATH, ".//button[text()='Brown']").click()
    page.wait(lambda: "a Brown coat" in page.recased)
    assert page["words"].get_attribute("value").split() == ["Brown"]


def test_a_casing_that_is_chosen_may_be_in_lower_case(page):
    page.word("US").click()
    page.why()
    page["why"].find_element(By.XPATH, ".//button[text()='us']").click()
    page.wait(lambda: "the us Navy" in page.recased)


def test_the_keyboard_reaches_everything(page):
    page["text"].send_keys(Keys.TAB * 2)  # over the button Copy
    page.wait(lambda: page.browser.switch_to.active_element.text == "Mr")
    page.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    page.wait(lambda: page.browser.switch_to.active_element.text == "Brown")
    assert "from “brown”" in page.why()
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.wait(lambda: page.browser.switch_to.active_element.get_attribute("class") == "form")
    page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.wait(lambda: page.browser.switch_to.active_element.text == "Brown")
    assert not page["why"].is_displayed()


def test_options_change_the_text(page):
    page.type("it is here. we use PyTorch in NEW york")
    page.wait_for("it is here. we use PyTorch in New York")
    page["sentence_case"].click()
    page.wait_for("It is here. We use PyTorch in New York")
    page.select("input_case", "keep")
    page.wait_for("It is here. We use PyTorch in NEW York")
    page["own"].find_element(By.TAG_NAME, "summary").click()
    page["words"].send_keys("HERE")
    page.wait_for("It is HERE. We use PyTorch in NEW York")
    assert not page["language"].is_displayed()
    page.select("model", "several")
    page.type("mr. brown is in istanbul")
    page.wait_for("Mr. Brown is in Istanbul")
    page.select("language", "tr")
    page.wait_for("Mr. Brown is in İstanbul")


def drop(page: Page, name: str, data: str) -> None:
    page.browser.execute_script(
        "const data = new DataTransfer(); data.items.add(new File([arguments[1]], arguments[0]));"
        "for (const kind of ['dragover', 'drop'])"
        " text.dispatchEvent(new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}))",
        name,
        data,
    )


def test_a_file_that_is_dropped_or_chosen_comes_back_recased(page, tmp_path):
    page.browser.execute_script(
        "window.made = []; const create = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { made.push(blob); return create(blob) }"
    )
    drop(page, "film.srt", "1\n00:00:01,000 --> 00:00:02,000\nnew york\n")
    page.wait(lambda: "film.cased.srt" in page["download"].text)
    assert page["download"].find_element(By.TAG_NAME, "a").get_attribute("download") == "film.cased.srt"
    file = tmp_path / "lines.jsonl"
    file.write_text('{"text": "new york"}\n')
    page["file"].send_keys(str(file))
    page.wait(lambda: "lines.cased.jsonl" in page["download"].text)
    script = "Promise.all(made.map((blob) => blob.text())).then(arguments[0])"
    subtitles, lines = page.browser.execute_async_script(script)
    assert subtitles == "1\n00:00:01,000 --> 00:00:02,000\nNew York\n"
    assert lines == '{"text": "New York"}\n'
    drop(page, "film.exe", "x")
    page.wait(lambda: "film.exe" in page["problem"].text)


def test_nothing_comes_from_other_hosts_and_nothing_fails(page):
    ActionChains(page.browser).move_to_element(page.word("US")).perform()
    page.why()
    messages = [json.loads(entry["message"])["message"] for entry in page.browser.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
    assert len(asked) > 5
    own = (f"http://127.0.0.1:{page.service.port}/", "data:", "blob:", "http://127.0.0.1:")
    assert [url for url in asked if not url.startswith(own)] == []
    page.browser.get_log("browser")
    page.browser.get(page.service.url)
    page.wait(lambda: page.word("US"))
    assert page.browser.get_log("browser") == []


def test_the_page_of_requests_shows_each_route_and_field(browser, service):
    browser.get_log("browser")
    browser.get(f"{service.url}docs")
    described = service.ask("GET", "/openapi.json").json
    WebDriverWait(browser, SECONDS, 0.05).until(lambda _: browser.find_elements(By.TAG_NAME, "section"))
    shown = [heading.text for heading in browser.find_elements(By.CSS_SELECTOR, "h2 code")]
    assert shown == [f"{name.upper()} {route}" for route, methods in described["paths"].items() for name in methods]
    text = browser.find_element(By.TAG_NAME, "main").text
    fields = [each for schema in described["components"]["schemas"].values() for each in schema["properties"].values()]
    parts = [each["description"].replace("`", "") for each in fields if "description" in each]
    assert len(parts) > 20
    assert [part for part in parts if part not in text] == []
    assert "421" in text and '{"text":"an it meeting"}' in text
    assert browser.get_log("browser") == []


def test_a_phone_needs_no_horizontal_scrolling(browser, service):
    page = Page(browser, service).open(PHONE)
    assert page.is_within()
    page.shoot("service-phone.png")
    page.word("US").click()
    page.why()
    assert page.is_within()
    box = page["why"].rect
    assert (box["x"], box["width"]) == (0, PHONE[0])
    above = "return arguments[0].getBoundingClientRect().bottom < why.getBoundingClientRect().top"
    page.wait(lambda: browser.execute_script(above, page.word("US")))
    page.shoot("service-phone-why.png")
    page.type("a" * 200)
    page.wait(lambda: "aaa" in page.recased.lower())
    assert page.is_within()


def test_dark_and_light(browser, service):
    def colors(dark: bool) -> tuple[str, str]:
        page = Page(browser, service).open(dark=dark)
        if dark:
            ActionChains(browser).move_to_element(page.word("US")).perform()
            page.why()
            page.shoot("service-dark.png")
        return tuple(page["text"].value_of_css_property(name) for name in ("color", "background-color"))

    assert len({*colors(False), *colors(True)}) == 4


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_a_service_that_is_gone_is_asked_again(browser):
    port = free_port()
    with serving("--port", port) as service:
        page = Page(browser, service).open()
    page.type("new york")
    page.wait(lambda: "not answer" in page["problem"].text)
    with serving("--port", port):
        page.wait_for("New York")
        assert not page["problem"].is_displayed()


def test_text_that_is_too_long_is_explained(browser):
    with serving("--max-body", 500) as service:
        page = Page(browser, service).open()
        page.type("a" * 600)
        page.wait(lambda: "500 bytes" in page["problem"].text)


def test_a_service_that_is_busy_is_explained_and_asked_again(browser):
    with serving("--max-requests", 1) as service:
        page = Page(browser, service).open()
        with service.connect() as connection:
            connection.sendall(request("POST", "/recase", json.dumps(MANY).encode(), "application/json"))
            wait_until_it_works(service)
            page.type("new york")
            page.wait(lambda: "too many requests" in page["problem"].text.lower())
        page.wait_for("New York")

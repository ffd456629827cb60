# SPDX-License-Identifier: MIT
"""Chromium without a window, with the functions that the tests of the web page share."""
import base64
import os

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

OUT = os.environ["AOE_BROWSER_OUT"]
TABS = ["search", "similarity", "map", "rerank", "info"]


class Page:
    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(60)
        with open(os.path.join(OUT, "package/axe.min.js"), encoding="utf-8") as f:
            self.axe = f.read()

    def close(self):
        self.driver.quit()

    def emulate(self, width=1280, dark=False, reduced_motion=False):
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                    {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500})

    def open(self, url, tab="search", loaded=True):
        """Loads the page anew and waits until it has read the indexes and the models of the server."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(url + ("#" + tab if tab else ""))
        if loaded:
            self.wait(lambda: self.content("#info [role=status]").startswith("The information"))

    def wait(self, condition, seconds=20):
        return WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: condition())

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return [e.text for e in self.all(selector)]

    def content(self, selector):
        """Returns the text of an element that may be hidden."""
        return self.one(selector).get_attribute("textContent")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def fill(self, selector, text):
        """Replaces the text of a field, which may be in a hidden panel, as pasting does."""
        self.run("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))",
                 self.one(selector), text)

    def choose(self, selector, value):
        self.run("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}));"
                 "arguments[0].dispatchEvent(new Event('change', {bubbles: true}))", self.one(selector), value)

    def tab(self, name):
        self.one("#tab-" + name).click()

    def submit(self, name):
        """Submits the form of a tab and waits for its result. Returns the status line, and "" after an error."""
        self.run("arguments[0].textContent = 'before'", self.one(f"#{name} [role=status]"))
        self.one(f"#{name} form button[type=submit]").click()
        self.wait(lambda: self.content(f"#{name} [role=status]") != "before" and
                  not self.all(f"#{name} .result[aria-busy]"))
        return self.content(f"#{name} [role=status]")

    def error(self, name):
        return self.content(f"#{name} [role=alert]")

    def log(self):
        """Returns the messages of the console, such as violations of the content security policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def overflow(self):
        """Returns by how many pixels the page is wider than the window, or the contents of a panel than the panel.
        innerWidth of a phone grows with the page."""
        return self.run("return Math.max(...Array.from(document.querySelectorAll('html, [role=tabpanel]'),"
                        "e => e.scrollWidth - e.clientWidth))")

    def screenshot(self, name):
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
        with open(os.path.join(OUT, name + ".png"), "wb") as f:
            f.write(base64.b64decode(shot["data"]))

    def violations(self):
        """Returns the findings of axe-core, with its best practices."""
        self.run(self.axe)
        result = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {}).then(r => done([r.violations, r.passes.length]),"
            "e => done([[{id: String(e), nodes: []}], 0]))")
        assert result[1] > 10 or result[0], "axe-core checked nothing"
        return [v["id"] + ": " + "; ".join(n["html"] + " " + n["failureSummary"] for n in v["nodes"])
                for v in result[0]]

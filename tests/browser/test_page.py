# SPDX-License-Identifier: MIT
"""Every function of the web page, with a server whose answers are known."""
import re
import shlex
import subprocess
import sys
import time

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import TABS
from mock_server import BATCH, HITS, cosine, embed


def posts(server, path):
    return [body for method, p, body in server.requests if method == "POST" and p == path]


# ------------------------------------------------------------ search


def test_search_shows_passages(page, server):
    page.open(server.url)
    assert page.texts("#index option") == ["docs", "mail"]
    page.fill("#query", "cache")
    assert re.fullmatch(r"3 passages \(\d+ ms\)", page.submit("search"))
    assert posts(server, "/search") == [{"query": "cache", "index": "docs", "k": 10, "mode": "hybrid"}]
    hits = page.all(".hits > li")
    assert [h.find_element(By.TAG_NAME, "h3").text for h in hits] == ["guide.md:12–19", "long.txt:1–90", "one.txt:3"]
    assert page.texts(".hit-head .meta") == ["Score 0.0328", "Score 0.0161", "Score -0.250"]
    assert "Guide › Cache <b>files</b>" in hits[0].text
    assert page.texts(".hits .fields dt") == ["lang", "year"] and page.texts(".hits .fields dd") == ["en", "2024"]
    assert not page.log()


def test_highlights_count_code_points(page, server):
    page.open(server.url)
    page.fill("#query", "cache")
    page.submit("search")
    first, second, third = page.all(".hits > li")
    assert [m.text for m in first.find_elements(By.TAG_NAME, "mark")] == ["cache", "written"]
    assert first.find_element(By.CLASS_NAME, "passage").text == HITS[0]["text"]  # markup is shown as text
    assert [m.text for m in second.find_elements(By.TAG_NAME, "mark")] == ["needle"]
    assert not third.find_elements(By.TAG_NAME, "mark")


def test_overlapping_highlights_do_not_repeat_text(page, server):
    text = "abcdefghij"
    page.open(server.url)
    got = page.run("const p = passage({text: arguments[0], highlights: [[4, 9], [2, 6], [8, 50], [3, 3]]})[0];"
                   "return [p.textContent, Array.from(p.querySelectorAll('mark'), m => m.textContent)]", text)
    assert got == [text, ["cdef", "ghi", "j"]]


def test_a_long_passage_can_be_shown_whole(page, server):
    page.open(server.url)
    page.fill("#query", "cache")
    page.submit("search")
    passage, button = page.one(".hits > li:nth-child(2) .passage"), page.one(".hits > li:nth-child(2) button")
    assert len(passage.text) < 650 and passage.text.startswith("… ") and "needle" in passage.text
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    assert passage.get_attribute("textContent") == HITS[1]["text"]
    assert button.get_attribute("aria-expanded") == "true" and button.text == "Show less"
    button.click()
    assert len(passage.text) < 650


def test_search_options(page, server):
    page.open(server.url)
    page.fill("#query", "x")
    for mode, word in [("dense", "cosine"), ("lexical", "BM25"), ("hybrid", "ranks")]:
        page.choose("#mode", mode)
        assert word in page.one("#mode-hint").text
        page.submit("search")
        assert posts(server, "/search")[-1]["mode"] == mode
    page.choose("#index", "mail")
    page.fill("#count", "2")
    page.fill("#where", ' year >= 2020 ')
    assert page.submit("search").startswith("2 passages")
    assert posts(server, "/search")[-1] == {"query": "x", "index": "mail", "k": 2, "mode": "hybrid",
                                            "where": "year >= 2020"}
    page.fill("#count", "1")
    assert page.submit("search").startswith("1 passage (")


def test_search_without_result_and_with_an_error(page, server):
    page.open(server.url)
    page.fill("#query", "nothing")
    assert page.submit("search").startswith("No passage was found.")
    assert not page.all(".hits")
    page.fill("#where", "year >")
    assert page.submit("search") == ""
    assert page.error("search") == "Error 422: where: a value is missing after '>'"
    page.fill("#where", "")
    page.fill("#query", "cache")
    page.submit("search")
    assert page.error("search") == "" and len(page.all(".hits > li")) == 3


def test_a_server_without_index(page, server):
    server.indexes = []
    page.open(server.url)
    assert "aoe serve --index NAME=DIR" in page.one("#no-index").text
    page.fill("#query", "x")
    page.submit("search")
    assert page.error("search") == "This server has no index to search."
    assert not posts(server, "/search")


# ------------------------------------------------------------ similarity


def test_similarity_table(page, server):
    texts = ["one apple", "two pears", "three plums", "four", "five", "six grapes"]
    assert len(texts) > BATCH
    page.open(server.url, "similarity")
    page.fill("#similarity-texts", "\n".join(texts[:3]) + "\n\n  \n" + "\r\n".join(texts[3:]) + "\n")
    assert page.submit("similarity").startswith("6 texts compared")
    assert posts(server, "/embed") == [{"inputs": texts[:BATCH]}, {"inputs": texts[BATCH:]}]
    rows = page.all(".heat tbody tr")
    assert [r.find_element(By.TAG_NAME, "th").text for r in rows] == [f"{i + 1}. {t}" for i, t in enumerate(texts)]
    for i, row in enumerate(rows):
        cells = row.find_elements(By.TAG_NAME, "td")
        assert len(cells) == len(texts)
        for k, cell in enumerate(cells):
            expected = cosine(texts[i], texts[k])
            assert abs(float(cell.text) - expected) < 0.0051
            weight = float(page.run("return arguments[0].style.getPropertyValue('--weight')", cell))
            assert abs(weight - abs(expected)) < 0.001
            assert ("negative" in (cell.get_attribute("class") or "")) == (expected < 0)
    assert page.content(".heat caption") == "Cosine similarity of each pair of texts"
    assert page.run("return getComputedStyle(document.querySelector('.heat td')).backgroundColor") == \
        "rgb(232, 130, 40)"


def test_similarity_needs_2_to_30_texts(page, server):
    page.open(server.url, "similarity")
    for n in (1, 31):
        page.fill("#similarity-texts", "\n".join(f"text {i}" for i in range(n)))
        page.submit("similarity")
        assert page.error("similarity") == f"Enter 2 to 30 texts, one per line. There are {n}."
    assert not posts(server, "/embed")


def test_truncated_texts_are_reported(page, server):
    server.truncated = 1
    page.open(server.url, "similarity")
    page.fill("#similarity-texts", "a\nb\nc\nd\ne")
    page.submit("similarity")  # two requests, each with one truncated text
    assert page.one("#similarity .note").text == \
        "2 texts are longer than the model permits. The server truncated them."


# ------------------------------------------------------------ map


def test_map_draws_points_and_a_table(page, server):
    texts = ["apple", "banana", "cherry", "violin and a very long name of an instrument"]
    page.open(server.url, "map")
    page.fill("#map-texts", "\n".join(texts))
    assert page.submit("map").startswith("4 texts on the map")
    assert posts(server, "/map") == [{"inputs": texts}]
    points = page.all("#map .point")
    assert [p.get_attribute("aria-label") for p in points] == [f"{i + 1}. {t}" for i, t in enumerate(texts)]
    at = [tuple(map(float, re.findall(r"-?[\d.]+", p.get_attribute("transform")))) for p in points]
    xy = [embed(t)[:2] for t in texts]
    for a in range(4):  # the picture keeps the directions; y points up
        for b in range(a):
            assert abs((at[a][0] - at[b][0]) * (xy[a][1] - xy[b][1]) +
                       (at[a][1] - at[b][1]) * (xy[a][0] - xy[b][0])) < 1
            assert (at[a][0] - at[b][0]) * (xy[a][0] - xy[b][0]) >= 0
    assert page.content("#map .point:nth-of-type(1) text") == "apple"
    page.one("#map details summary").click()
    rows = [[c.text for c in r.find_elements(By.TAG_NAME, "td")] for r in page.all("#map tbody tr")]
    assert rows == [[str(i + 1), t, f"{xy[i][0]:.3f}", f"{xy[i][1]:.3f}"] for i, t in enumerate(texts)]


def test_labels_of_the_map_do_not_overlap(page, server):
    page.emulate(width=360)
    page.open(server.url, "map")
    page.fill("#map-texts", "\n".join(f"a text with the number {i}" for i in range(60)))
    page.submit("map")
    boxes = page.run("return Array.from(document.querySelectorAll('#map .point text'), t => {"
                     "const r = t.getBoundingClientRect(); return [r.left, r.top + 2, r.right, r.bottom - 2]})")
    assert 1 <= len(boxes) < 60
    for i, a in enumerate(boxes):
        assert a[0] >= 0 and a[2] <= 360
        for b in boxes[:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_points_can_be_reached_with_the_keyboard(page, server):
    page.open(server.url, "map")
    page.submit("map")
    page.one("#map form button").send_keys(Keys.TAB)
    focused = lambda: page.run("return document.activeElement.getAttribute('aria-label')")
    assert focused() == "1. apple"
    assert page.one(".chosen").text == "1. apple"
    for key, label in [(Keys.ARROW_RIGHT, "2. banana"), (Keys.ARROW_DOWN, "3. cherry"), (Keys.ARROW_LEFT, "2. banana"),
                       (Keys.HOME, "1. apple"), (Keys.ARROW_UP, "12. carpenter"), (Keys.END, "12. carpenter"),
                       (Keys.ARROW_RIGHT, "1. apple")]:
        page.driver.switch_to.active_element.send_keys(key)
        assert focused() == label and page.one(".chosen").text == label
    assert len(page.all("#map .point[tabindex='0']")) == 1
    page.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert page.run("return document.activeElement.textContent") == "Coordinates as a table"


def test_a_pointer_chooses_the_nearest_point(page, server):
    page.open(server.url, "map")
    page.submit("map")
    circle = page.one("#map .point:nth-of-type(3) circle")
    ActionChains(page.driver).move_to_element_with_offset(circle, 4, -14).perform()
    assert page.one(".chosen").text == "3. cherry"
    assert page.one("#map .near").get_attribute("aria-label") == "3. cherry"
    ActionChains(page.driver).click().perform()
    assert page.run("return document.activeElement.getAttribute('aria-label')") == "3. cherry"
    ActionChains(page.driver).move_to_element_with_offset(circle, 4, -60).perform()
    assert not page.all("#map .near")


def test_equal_points_and_too_few_texts(page, server):
    page.open(server.url, "map")
    page.fill("#map-texts", "same\nsame\nsame")
    assert page.submit("map").startswith("3 texts")
    assert len(page.all("#map .point")) == 3
    assert all("NaN" not in p.get_attribute("transform") for p in page.all("#map .point"))
    page.fill("#map-texts", "one\ntwo")
    page.submit("map")
    assert page.error("map") == "Enter at least 3 texts, one per line. There are 2."


def test_the_map_is_drawn_anew_for_another_width(page, server):
    page.open(server.url, "map")
    page.submit("map")
    wide = int(page.one("#map svg").get_dom_attribute("viewBox").split()[2])
    page.tab("search")
    page.emulate(width=360)
    page.tab("map")
    page.wait(lambda: int(page.one("#map svg").get_dom_attribute("viewBox").split()[2]) < 360 < wide)
    assert page.overflow() == 0


# ------------------------------------------------------------ rerank


def test_rerank(page, server):
    texts = ["xyz", "how to bake", "bread", "do", "how do i bake bread?", "q"]
    page.open(server.url, "rerank")
    page.fill("#rerank-query", "how do i bake bread?")
    page.fill("#rerank-texts", "\n".join(texts))
    assert page.submit("rerank").startswith("6 texts ranked by the cross-encoder")
    assert [len(b["texts"]) for b in posts(server, "/rerank")] == [BATCH, 2]
    scores = [len(set(t) & set("how do i bake bread?")) / 40 for t in texts]
    order = sorted(range(6), key=lambda i: (-scores[i], i))
    rows = [[c.text for c in r.find_elements(By.TAG_NAME, "td")] for r in page.all("#rerank tbody tr")]
    assert [r[2] for r in rows] == [texts[i] for i in order]
    assert [float(r[1]) for r in rows] == [round(scores[i], 4) for i in order]
    assert [r[0] for r in rows] == list("123456")


def test_ranking_by_embeddings_if_the_model_is_no_cross_encoder(page, server):
    server.cross_encoder = False
    page.open(server.url, "rerank")
    page.fill("#rerank-query", "query")
    page.fill("#rerank-texts", "a\nquery\nbb\nc\nqueries")
    page.submit("rerank")
    assert page.error("rerank").startswith("Error 424: the model is not a cross-encoder; use /similarity")
    page.one("#rerank [role=alert] button").click()
    page.wait(lambda: page.content("#rerank [role=status]").startswith("5 texts ranked by embeddings"))
    assert posts(server, "/similarity")[0] == {"inputs": {"source_sentence": "query",
                                                          "sentences": ["a", "query", "bb", "c"]}}
    first = [c.text for c in page.all("#rerank tbody tr:first-child td")]
    assert first == ["1", "1.000", "query"]
    assert "/similarity" in page.content("#rerank pre")
    assert page.error("rerank") == ""


# ------------------------------------------------------------ model


def test_model_card(page, server):
    page.open(server.url, "info")
    terms = dict(zip(page.texts("#info dt"), page.texts("#info dd")))
    assert terms["Model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert terms["Type"] == "embedding (pooling: mean)"
    assert terms["Tokens per text, at most"] == "256" and terms["Concurrent requests, at most"] == "512"
    assert terms["Long texts are truncated"] == "yes"
    assert "Revision" not in terms  # the server does not know it
    rows = [[c.text for c in r.find_elements(By.TAG_NAME, "td")] for r in page.all("#info tbody tr")]
    assert rows == [["docs", "120", "7", "minilm"], ["mail", "31,000", "4,200", "minilm"]]
    assert page.one("#server").text == "minilm · 2 indexes"
    server.indexes = server.indexes[:1]
    page.submit("info")
    assert len(page.all("#info tbody tr")) == 1


def test_the_model_can_be_chosen(page, server):
    page.open(server.url, "similarity")
    assert not page.one("#model-choice").is_displayed()
    server.models = ["minilm", "e5"]
    page.open(server.url, "similarity")
    assert page.one("#model-choice").is_displayed()
    page.submit("similarity")
    assert "model" not in posts(server, "/embed")[-1]
    page.choose("#model", "e5")
    assert '"model":"e5"' in page.content("#similarity pre")
    page.submit("similarity")
    assert posts(server, "/embed")[-1]["model"] == "e5"


# ------------------------------------------------------------ calls of programs

HARD = "It's \"quoted\" \\ back\\nslash $HOME `id` \U0001f600 – é"


def calls(page, name):
    page.tab(name)
    curl, python = (e.get_attribute("textContent") for e in page.all(f"#{name} pre"))
    return curl, python


@pytest.mark.parametrize("key", [None, "secret-key"])
def test_calls_send_what_the_page_sends(page, server, key, monkeypatch):
    server.key = key
    page.open(server.url, loaded=not key)
    if key:
        enter_key(page, key)
        monkeypatch.setenv("AOE_API_KEY", key)
    page.fill("#query", HARD)
    page.fill("#where", 'a = "b" and c != \'d\'')
    page.fill("#similarity-texts", HARD + "\nsecond")
    page.fill("#map-texts", HARD + "\nsecond\nthird")
    page.fill("#rerank-query", HARD)
    page.fill("#rerank-texts", HARD + "\nsecond")
    for name in TABS:
        curl, python = calls(page, name)
        page.submit(name)
        sent = server.requests[-1] if name != "info" else ("GET", "/info", None)
        assert key is None or key not in curl + python
        answers = []
        for command in (["bash", "-c", curl.replace("curl ", "curl --silent --fail ", 1)],
                        [sys.executable, "-c", python]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=30)
            assert done.returncode == 0, done.stderr
            assert server.requests[-1] == sent
            answers.append(done.stdout)
        assert all(answers)
    assert shlex.split(calls(page, "map")[0])[1] == server.url + "map"


def test_calls_name_the_number_of_requests(page, server):
    page.open(server.url, "similarity")
    page.fill("#similarity-texts", "\n".join(f"text {i}" for i in range(BATCH + 1)))
    for text in calls(page, "similarity"):
        assert text.startswith(f"# The server accepts at most {BATCH} texts per request. "
                               "This is the first of 2 requests.\n")


def test_calls_can_be_copied(page, server):
    page.open(server.url)
    page.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite",
                                                                           "clipboardSanitizedWrite"]})
    page.fill("#query", "cache")
    page.one("#search details summary").click()
    for i, name in enumerate(["curl", "Python"]):
        page.all("#search .code-head button")[i].click()
        page.wait(lambda: page.content("#search [role=status]") == f"The {name} call was copied.")
        copied = page.driver.execute_async_script(
            "const done = arguments[0]; navigator.clipboard.readText().then(done, e => done(String(e)))")
        assert copied == page.all("#search pre")[i].get_attribute("textContent")


# ------------------------------------------------------------ API key


def enter_key(page, key):
    page.wait(lambda: page.one("#key-box").is_displayed())
    page.fill("#key", key)
    page.one("#key-form button").click()


def test_api_key(page, server):
    server.key = "right-key"
    page.open(server.url, loaded=False)
    enter_key(page, "wrong")
    page.wait(lambda: page.content("#key-error") == "The server does not accept this key.")
    enter_key(page, "größer")
    assert page.content("#key-error") == "A key consists of ASCII characters without spaces."
    enter_key(page, "right-key")
    page.wait(lambda: not page.one("#key-box").is_displayed())
    assert page.run("return document.activeElement.id") == "tab-search"
    assert page.run("return document.getElementById('key').value") == ""
    page.fill("#query", "cache")
    assert page.submit("search").startswith("3 passages")
    assert page.run("return localStorage.length + sessionStorage.length + document.cookie.length") == 0
    assert "right-key" not in page.run("return document.documentElement.outerHTML")
    page.open(server.url, loaded=False)  # the key is not kept
    page.wait(lambda: page.one("#key-box").is_displayed())


# ------------------------------------------------------------ errors


@pytest.mark.parametrize("value,expected", [
    ({"error": "busy", "error_type": "Overloaded"}, "Error 429: busy"),
    ({"error": {"message": "too much", "type": "x"}}, "Error 429: too much"),
    ({"message": "cohere", "id": 1}, "Error 429: cohere"),
    ([], "Error 429: Too Many Requests"),
])
def test_errors_of_the_server(page, server, value, expected):
    page.open(server.url, "similarity")
    page.submit("similarity")
    server.failure = (429, value)
    page.submit("similarity")
    assert page.error("similarity") == expected
    assert not page.all("#similarity .heat")  # an old result is not shown next to an error


def test_a_server_that_stopped(page, server):
    page.open(server.url)

    def stop(*_):
        raise ConnectionAbortedError
    server.route = stop  # the connection is closed without an answer
    page.fill("#query", "x")
    page.submit("search")
    assert page.error("search") == "The server does not answer. Check that it is running, and try again."


def test_only_the_last_search_is_shown(page, server):
    page.open(server.url)
    slow, first = server.route, []

    def route(method, path, body):
        if path == "/search" and not first:
            first.append(body)
            time.sleep(1)
            return 200, {"hits": []}
        return slow(method, path, body)
    server.route = route
    page.fill("#query", "slow")
    page.one("#search form button").click()
    page.wait(lambda: first)
    page.fill("#query", "cache")
    page.one("#search form button").click()
    page.wait(lambda: page.all(".hits"))
    time.sleep(1.2)
    assert page.content("#search [role=status]").startswith("3 passages") and len(page.all(".hits > li")) == 3


# ------------------------------------------------------------ tabs and keyboard


def test_tabs(page, server):
    page.open(server.url)
    selected = lambda: [t.get_attribute("aria-controls") for t in page.all("[role=tab][aria-selected=true]")]
    page.one("#tab-search").click()
    for key, name in [(Keys.ARROW_RIGHT, "similarity"), (Keys.END, "info"), (Keys.ARROW_RIGHT, "search"),
                      (Keys.ARROW_LEFT, "info"), (Keys.HOME, "search")]:
        page.driver.switch_to.active_element.send_keys(key)
        assert selected() == [name]
        assert page.run("return document.activeElement.id") == "tab-" + name
        assert [p.get_attribute("id") for p in page.all("[role=tabpanel]") if p.is_displayed()] == [name]
        assert page.run("return location.hash") == "#" + name
        assert len(page.all("[role=tab][tabindex='0']")) == 1
    page.open(server.url, "rerank")
    assert selected() == ["rerank"]
    page.open(server.url, "no-such-tab")
    assert selected() == ["search"]


def test_search_with_the_keyboard_only(page, server):
    page.open(server.url, tab=None)
    active = lambda: page.driver.switch_to.active_element
    order = []
    for _ in range(7):
        active().send_keys(Keys.TAB)
        order.append(active().get_attribute("id") or active().text)
        assert page.run("const s = getComputedStyle(document.activeElement);"
                        "return s.outlineStyle === 'solid' && parseFloat(s.outlineWidth) >= 3"), order
    assert order == ["tab-search", "query", "Search", "index", "mode", "count", "where"]
    page.one("#query").send_keys("cache", Keys.ENTER)
    page.wait(lambda: page.all(".hits"))
    page.tab("rerank")
    page.one("#rerank-texts").send_keys(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: page.content("#rerank [role=status]").startswith("4 texts"))


def test_results_and_errors_are_live_regions(page, server):
    page.open(server.url)
    for name in TABS:
        assert len(page.all(f"#{name} [role=status]")) == 1 and len(page.all(f"#{name} [role=alert]")) == 1
    assert page.run("return Array.from(document.querySelectorAll('input, select, textarea'))"
                    ".filter(e => !e.labels.length).length") == 0


# ------------------------------------------------------------ appearance and accessibility


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_appearance(page, server, width, dark):
    page.emulate(width=width, dark=dark)
    server.models = ["minilm", "e5"]
    page.open(server.url)
    scheme = "dark" if dark else "light"
    for name in TABS:
        page.tab(name)
        if name == "search":
            page.fill("#query", "cache")
        page.submit(name)
        for summary in page.all(f"#{name} details summary") if name in ("map", "similarity") else []:
            summary.click()
        assert page.overflow() <= 0, name
        assert page.violations() == [], name
        page.screenshot(f"{name}-{width}-{scheme}")
    server.cross_encoder = False
    page.tab("rerank")
    page.submit("rerank")
    assert page.violations() == []
    server.key = "k"
    server.indexes = []
    page.open(server.url, loaded=False)
    enter_key(page, "wrong")
    page.wait(lambda: page.content("#key-error"))
    assert page.overflow() <= 0 and page.violations() == []
    page.screenshot(f"key-{width}-{scheme}")


def test_reduced_motion(page, server):
    duration = "return getComputedStyle(document.querySelector('button.main')).transitionDuration"
    page.open(server.url)
    assert page.run(duration) != "0s"
    page.emulate(reduced_motion=True)
    assert page.run(duration) == "0s"


# ------------------------------------------------------------ security


def test_the_policy_blocks_other_scripts_styles_and_hosts(page, server):
    page.open(server.url)
    assert not page.log()
    page.run("const s = document.createElement('script'); s.textContent = 'window.injected = 1';"
             "document.body.append(s); const p = document.createElement('p'); p.setAttribute('style', 'color: red');"
             "document.body.append(p); const i = document.createElement('img'); i.src = 'http://127.0.0.1:9/x.png';"
             "document.body.append(i)")
    assert page.run("return window.injected") is None
    blocked = page.driver.execute_async_script(
        "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('sent'), e => done(String(e)))")
    assert blocked.startswith("TypeError")
    assert len([m for m in page.log() if "Content Security Policy" in m]) >= 4


def test_texts_of_an_index_are_not_markup(page, server):
    page.open(server.url)
    evil = "<img src=x onerror='window.injected=1'><script>window.injected=1</script>"
    HITS_evil = [{"name": evil, "line": 1, "last_line": 1, "headings": [evil], "score": 1.0, "text": evil,
                  "highlights": [[0, 20]], "fields": {evil: [evil, evil]}}]
    server.route = lambda method, path, body: (200, {"hits": HITS_evil})
    page.fill("#query", evil)
    page.submit("search")
    assert evil in page.one(".hits h3").text and page.one(".passage").text == evil
    assert not page.all(".hits img, .hits script") and page.run("return window.injected") is None
    assert not page.log()

# SPDX-License-Identifier: MIT
"""Every function of the web page with `aoe serve`. The expected values are those of other commands of aoe, and the
answers to the same requests without the page."""
import json
import math
import re
import subprocess
import sys

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import TABS
from real_server import ENVIRONMENT, MODEL, ROWS, RealServer, aoe

SENTENCES = ["A plane is taking off.", "An aircraft departs.", "He bakes bread.", "Ein Flugzeug hebt ab – \U0001f6eb."]


@pytest.fixture(scope="module")
def server(data):
    """The default model, two indexes, and a page in which nothing has failed before."""
    s = RealServer("-i", "docs=" + data.docs, "-i", "table=" + data.table)
    yield s
    code, messages = s.close()
    assert code == 0
    assert re.fullmatch(r"libmicrohttpd [0-9.]+\nfinishing the requests in flight;[^\n]*\n", messages), messages


@pytest.fixture(scope="module")
def two_models(data):
    s = RealServer("-m", "english=" + MODEL, "-m", "cross=" + data.reranker)
    yield s
    assert s.close()[0] == 0


@pytest.fixture
def locked(data):
    s = RealServer("-i", "docs=" + data.docs, "--api-key-file", data.key)
    yield s
    assert s.close()[0] == 0


@pytest.fixture(autouse=True)
def clean(page):
    """After each test, the log of the browser must not contain violations of the policy or errors of the script."""
    page.emulate()
    page.log()
    yield
    assert [m for m in page.log() if "Failed to load resource" not in m] == []
    page.driver.get("about:blank")


def cosine(a, b):
    return json.loads(aoe("similarity", "--json", a, b))["cosine"]


def rows(page, selector):
    return [[c.text for c in r.find_elements(By.TAG_NAME, "td")] for r in page.all(selector + " tbody tr")]


# ------------------------------------------------------------ search


def search(page, query, **options):
    page.fill("#query", query)
    for name, value in options.items():
        (page.choose if name in ("index", "mode") else page.fill)("#" + name, value)
    return page.submit("search")


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_search_finds_what_the_program_finds(page, server, data, mode):
    query = "How is the API key sent to the server?"
    page.open(server.url)
    assert re.fullmatch(r"5 passages \(\d+ ms\)", search(page, query, mode=mode, count="5"))
    expected = json.loads(aoe("search", "--json", "-i", data.docs, "--mode", mode, "-k", "5", query))["hits"]
    assert len(expected) == 5
    for item, hit in zip(page.all(".hits > li"), expected, strict=True):
        lines = f"{hit['name']}:{hit['line']}" + (f"–{hit['last_line']}" if hit["last_line"] > hit["line"] else "")
        assert item.find_element(By.TAG_NAME, "h3").text == lines
        shown = float(item.find_element(By.CLASS_NAME, "meta").text.removeprefix("Score "))
        assert abs(shown - hit["score"]) <= (5e-5 if abs(hit["score"]) < 0.1 else 5e-4) + 1e-9
        assert hit["heading"] in item.text


def test_highlights_are_words_of_the_query(page, server):
    page.open(server.url)
    search(page, "certificate keys of a proxy", count="20")
    answer = server.post("search", {"query": "certificate keys of a proxy", "index": "docs", "k": 20})["hits"]
    stems = ("certificat", "key", "of", "a", "proxi", "proxy")
    marked = 0
    for item, hit in zip(page.all(".hits > li"), answer, strict=True):
        for button in item.find_elements(By.CSS_SELECTOR, "button[aria-expanded=false]"):
            button.click()
        passage = item.find_element(By.CLASS_NAME, "passage")
        assert passage.get_attribute("textContent") == hit["text"]
        words = [m.get_attribute("textContent") for m in passage.find_elements(By.TAG_NAME, "mark")]
        assert words == [hit["text"][a:b] for a, b in hit["highlights"]]
        assert all(w.lower().startswith(stems) for w in words)
        marked += len(words)
    assert marked > 20 and "keys" in page.content(".hits") and any("key" == m for m in page.texts("mark"))


def test_highlights_after_characters_outside_of_the_basic_plane(page, server):
    page.open(server.url)
    search(page, "rocket", index="table", mode="lexical")
    hits = {h.find_element(By.TAG_NAME, "h3").text: h for h in page.all(".hits > li")}
    texts = {row["id"]: row["text"] for row in ROWS}
    for name in ("smile", "tags"):
        assert hits[name].find_element(By.CLASS_NAME, "passage").text == texts[name]  # markup is shown as text
        assert [m.text for m in hits[name].find_elements(By.TAG_NAME, "mark")] == ["rocket"]
    assert "mond" not in hits and page.run("return document.querySelectorAll('.hits script, .hits b').length") == 0
    excerpt = hits["long"].find_element(By.CLASS_NAME, "passage").text  # the word is far behind the first characters
    assert excerpt.startswith("… ") and "A rocket stood behind" in excerpt and len(excerpt) < 650


def test_the_excerpt_shows_the_rarest_words(page, server):
    page.open(server.url)
    hit = {"name": "x", "text": "the " * 300 + "certificate of the proxy " + "is " * 300, "highlights": []}
    hit["highlights"] = [m.span() for m in re.finditer("the|certificate|proxy", hit["text"])]
    shown = page.run("return passage(arguments[0])[0].textContent", hit)
    assert "certificate of the proxy" in shown and len(shown) < 620


def test_filters(page, server):
    page.open(server.url)
    for where, expected in [("year >= 2020", {"smile", "long"}), ('lang = "de"', {"mond"}),
                            ("lang = 'en' and year < 2000", {"tags"}), ("year > 3000", set())]:
        status = search(page, "rocket", index="table", mode="dense", where=where)
        assert set(page.texts(".hits h3")) == expected
        assert status.startswith("No passage was found." if not expected else f"{len(page.all('.hits > li'))} passage")
    search(page, "rocket", index="table", where="lang = 'de'")
    assert dict(zip(page.texts(".fields dt"), page.texts(".fields dd"))) == {"lang": "de", "year": "2019"}
    assert search(page, "rocket", index="docs", where="name = 'serve.md' and ext = 'md'")
    assert {h.split(":")[0] for h in page.texts(".hits h3")} == {"serve.md"}


def test_errors_of_the_search(page, server):
    page.open(server.url)
    assert search(page, "rocket", where="year >") == ""
    error = page.error("search")
    assert error.startswith("Error 422: ") and "year >" in error
    assert page.one("#search [role=alert]").is_displayed() and not page.all(".hits")
    page.fill("#query", "")
    page.one("#search form button").click()  # the browser itself asks for the query
    assert page.run("return document.activeElement.id") == "query"


def test_a_server_without_index(page, two_models):
    page.open(two_models.url)
    assert "aoe serve --index NAME=DIR" in page.one("#no-index").text
    search(page, "x")
    assert page.error("search") == "This server has no index to search."


# ------------------------------------------------------------ similarity and map


def test_the_heat_map_shows_the_values_of_aoe_similarity(page, server):
    page.open(server.url, "similarity")
    page.fill("#similarity-texts", "\n".join(SENTENCES))
    assert page.submit("similarity").startswith("4 texts compared")
    got = rows(page, ".heat")
    for i, a in enumerate(SENTENCES):
        for k, b in enumerate(SENTENCES):
            expected = cosine(a, b)
            assert abs(float(got[i][k]) - expected) <= 0.005 + 1e-6, (a, b)
    colors = page.run("return Array.from(document.querySelectorAll('.heat td'),"
                      "c => c.style.getPropertyValue('--weight'))")
    assert [abs(float(c) - abs(float(v))) <= 0.006 for c, v in zip(colors, sum(got, []), strict=True)] == [True] * 16


def test_more_texts_than_a_request_may_contain(page, data):
    server = RealServer("--max-client-batch-size", "4", "--max-list", "40")
    try:
        texts = [f"This is sentence {i}." for i in range(10)]
        page.open(server.url, "similarity")
        page.fill("#similarity-texts", "\n".join(texts))
        assert page.submit("similarity").startswith("10 texts compared")
        assert abs(float(rows(page, ".heat")[9][0]) - cosine(texts[9], texts[0])) <= 0.005 + 1e-6
        page.tab("rerank")
        page.fill("#rerank-texts", "\n".join(texts))
        page.submit("rerank")
        page.one("#rerank [role=alert] button").click()
        page.wait(lambda: page.content("#rerank [role=status]").startswith("10 texts ranked by embeddings"))
        page.tab("map")
        page.fill("#map-texts", "\n".join(f"text {i}" for i in range(41)))
        page.submit("map")
        assert page.error("map").startswith("Error 422: ") and "40" in page.error("map")
    finally:
        assert server.close()[0] == 0


def test_truncated_texts_are_reported(page, server):
    page.open(server.url, "similarity")
    page.fill("#similarity-texts", "word " * 600 + "\nshort")
    page.submit("similarity")
    assert page.one("#similarity .note").text == "1 text is longer than the model permits. The server truncated it."


def test_the_map_of_three_texts_keeps_their_distances(page, server):
    page.open(server.url, "map")
    page.fill("#map-texts", "\n".join(SENTENCES[:3]))
    assert page.submit("map").startswith("3 texts on the map")
    page.one("#map details summary").click()
    table = rows(page, "#map")
    assert [r[1] for r in table] == SENTENCES[:3]
    at = [(float(r[2]), float(r[3])) for r in table]
    for i, k in [(0, 1), (0, 2), (1, 2)]:  # two dimensions are enough for three points
        expected = math.sqrt(2 - 2 * cosine(SENTENCES[i], SENTENCES[k]))
        assert abs(math.dist(at[i], at[k]) - expected) < 0.003
    points = page.all("#map .point")
    assert [p.get_attribute("aria-label") for p in points] == [f"{i + 1}. {t}" for i, t in enumerate(SENTENCES[:3])]


def test_a_map_of_a_pasted_list(page, server):
    colors, things = ("red", "green", "blue", "old", "new"), ("apple", "piano", "train", "teacher")
    texts = [f"{a} {b}" for a in colors for b in things] * 5
    page.open(server.url, "map")
    page.fill("#map-texts", "\r\n".join(["", *texts, ""]))
    assert page.submit("map").startswith("100 texts on the map")
    points = server.post("map", {"inputs": texts})["points"]
    page.one("#map details summary").click()
    assert [r[2:] for r in rows(page, "#map")] == [[f"{x:.3f}", f"{y:.3f}"] for x, y in points]
    assert len(page.all("#map .point")) == 100 and page.overflow() <= 0


# ------------------------------------------------------------ rerank


def test_ranking_by_embeddings(page, server):
    query, texts = "An aircraft departs.", SENTENCES[:3] + ["Planes fly."]
    page.open(server.url, "rerank")
    page.fill("#rerank-query", query)
    page.fill("#rerank-texts", "\n".join(texts))
    page.submit("rerank")
    assert page.error("rerank").startswith("Error 424: the model 'aoe-small-en' is an embedding model")
    page.one("#rerank [role=alert] button").click()
    page.wait(lambda: page.content("#rerank [role=status]").startswith("4 texts ranked by embeddings"))
    scores = {t: cosine(query, t) for t in texts}
    got = rows(page, "#rerank")
    assert [r[2] for r in got] == sorted(texts, key=lambda t: -scores[t]) and [r[0] for r in got] == list("1234")
    assert all(abs(float(r[1]) - scores[r[2]]) <= 0.0005 + 1e-6 for r in got)


def test_ranking_by_a_cross_encoder(page, two_models, data):
    query, texts = "w1 w2", ["w3 w4", "w1 w2 w5", "w9", "w30 w31 w1", "w7 w7 w7 w7"]
    page.open(two_models.url, "rerank")
    page.choose("#model", "cross")
    page.fill("#rerank-query", query)
    page.fill("#rerank-texts", "\n".join(texts))
    assert page.submit("rerank").startswith("5 texts ranked by the cross-encoder")
    output = aoe("rerank", "-m", data.reranker, "--query", query, "-f", "jsonl", text="\n".join(texts) + "\n")
    expected = [json.loads(line) for line in output.splitlines()]
    got = rows(page, "#rerank")
    assert [r[2] for r in got] == [e["text"] for e in expected]
    assert all(abs(float(r[1]) - e["score"]) <= 0.0005 + 1e-6 for r, e in zip(got, expected, strict=True))
    for name in ("similarity", "map"):  # the chosen model computes no embeddings
        page.tab(name)
        page.submit(name)
        assert page.error(name).startswith("Error 424: the model 'cross' is ")


# ------------------------------------------------------------ model card


def test_the_model_card_shows_the_answer_of_info(page, server):
    page.open(server.url, "info")
    info = server.get("info")
    terms = dict(zip(page.texts("#info dt"), page.texts("#info dd"), strict=True))
    assert terms["Model"] == "aoe-small-en" and terms["Type"] == "embedding (pooling: mean)"
    assert terms["Dimensions"] == "384" and terms["Version"] == info["version"]
    assert terms["Parameters"] == f"{info['parameters']:,}"
    assert terms["Tokens per text, at most"] == str(info["max_input_length"])
    assert terms["Bytes per request, at most"] == f"{info['max_body']:,}"
    assert len(terms) == len([v for v in info.values() if v is not None])
    assert all(t[0].isupper() or t == "libmicrohttpd" for t in terms)  # each value of the server has a label
    assert rows(page, "#info") == [[i["name"], str(i["passages"]), str(i["documents"]), "aoe-small-en"]
                                   for i in server.get("indexes")["indexes"]]
    assert page.one("#server").text == "aoe-small-en · 2 indexes"


def test_the_card_of_another_model(page, two_models):
    page.open(two_models.url, "info")
    assert page.texts("#model option") == ["english", "cross"] and page.one("#server").text == "2 models"
    page.choose("#model", "cross")
    page.wait(lambda: "reranker" in page.content("#info dl"))
    terms = dict(zip(page.texts("#info dt"), page.texts("#info dd"), strict=True))
    assert terms["Model"] == "cross" and terms["Type"] == "reranker (labels: LABEL_0)"
    assert terms["Tokens per text, at most"] == "64" and terms["Models"] == "english (default), cross"
    assert "info?model=cross" in page.content("#info pre")


# ------------------------------------------------------------ calls of programs


def copied(page, name, language):
    """Presses a button that copies and returns the text of the clipboard."""
    page.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite",
                                                                           "clipboardSanitizedWrite"]})
    if not page.one(f"#{name} .out > details").get_attribute("open"):
        page.one(f"#{name} .out > details > summary").click()
    page.all(f"#{name} .code-head button")[["curl", "Python"].index(language)].click()
    page.wait(lambda: page.content(f"#{name} [role=status]") == f"The {language} call was copied.")
    return page.driver.execute_async_script("const done = arguments[0]; navigator.clipboard.readText().then(done)")


def output_of(command, environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("locking", [False, True], ids=["open", "key"])
def test_copied_calls_work_in_a_shell_and_in_python(page, data, locking):
    options = ["--api-key-file", data.key] if locking else []
    server = RealServer("-m", "a=" + MODEL, "-m", "cross=" + data.reranker, "-i", "table=" + data.table, *options)
    key, environment = None, ENVIRONMENT
    try:
        page.open(server.url, loaded=not locking)
        if locking:
            key, environment = "right-key", ENVIRONMENT | {"AOE_API_KEY": "right-key"}
            enter_key(page, key)
            page.wait(lambda: not page.one("#key-box").is_displayed())
        hard, where = "It's a \"rocket\" \\ $HOME `id` \U0001f680 é", "lang = 'en' and year > 1"
        page.fill("#query", hard)
        page.fill("#where", where)
        page.fill("#similarity-texts", hard + "\nsecond")
        page.fill("#map-texts", hard + "\nsecond\nthird")
        page.fill("#rerank-query", hard)
        page.fill("#rerank-texts", hard + "\nw1 w2")
        expected = {
            "search": ("search", {"query": hard, "index": "table", "k": 10, "mode": "hybrid", "where": where}),
            "similarity": ("embed", {"inputs": [hard, "second"]}),
            "map": ("map", {"inputs": [hard, "second", "third"]}),
            "rerank": ("rerank", {"query": hard, "texts": [hard, "w1 w2"], "model": "cross"}),
        }
        for name in TABS:
            page.tab(name)
            page.choose("#model", "cross" if name == "rerank" else "a")
            curl, python = copied(page, name, "curl"), copied(page, name, "Python")
            assert key is None or key not in curl + python
            from_curl = json.loads(output_of(["sh", "-c", curl], environment))
            assert output_of([sys.executable, "-c", python], environment) == str(from_curl) + "\n"
            if name == "info":
                assert from_curl["model_id"] == "a"
            else:
                assert from_curl == server.post(expected[name][0], expected[name][1], key)
        assert {h["name"] for h in server.post(*expected["search"], key)["hits"]} == {"smile", "tags", "long"}
    finally:
        assert server.close()[0] == 0


# ------------------------------------------------------------ API key


def enter_key(page, key):
    page.wait(lambda: page.one("#key-box").is_displayed())
    page.fill("#key", key)
    page.one("#key-form button").click()


def test_api_key(page, locked):
    page.open(locked.url, loaded=False)
    page.wait(lambda: page.one("#key-box").is_displayed())
    assert page.run("return document.activeElement.id") == "key"
    assert not page.all("footer a") and locked.url + "docs" in page.one("footer").text  # links cannot send the key
    page.fill("#query", "rocket")
    page.submit("search")
    assert page.error("search").startswith("Error 401: The server requires an API key.")
    enter_key(page, "wrong-key")
    page.wait(lambda: page.content("#key-error") == "The server does not accept this key.")
    page.one("#key").clear()
    page.one("#key").send_keys("right-key", Keys.ENTER)
    page.wait(lambda: not page.one("#key-box").is_displayed())
    assert page.error("search") == "" and page.texts("#index option") == ["docs"]
    assert search(page, "api key").startswith("10 passages")
    assert "right-key" not in page.run("return document.documentElement.outerHTML + location.href")
    assert page.run("return localStorage.length + sessionStorage.length + document.cookie.length") == 0


# ------------------------------------------------------------ failures


def test_a_server_that_stops_and_starts_again(page, data):
    server = RealServer("-i", "docs=" + data.docs)
    port = server.url.rsplit(":", 1)[1].rstrip("/")
    page.open(server.url)
    assert search(page, "api key").startswith("10 passages")
    assert server.close()[0] == 0
    search(page, "api key")
    assert page.error("search") == "The server does not answer. Check that it is running, and try again."
    assert not page.all(".hits")
    server = RealServer("-i", "docs=" + data.docs, "--port", port)
    try:
        assert search(page, "api key").startswith("10 passages") and page.error("search") == ""
    finally:
        assert server.close()[0] == 0


def test_a_page_that_could_not_read_the_indexes_reads_them_later(page, server):
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/indexes"]})
    try:
        page.open(server.url, loaded=False)
        page.wait(lambda: page.error("search"))
        assert page.error("search") == "The server does not answer. Check that it is running, and try again."
    finally:
        page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
        page.driver.execute_cdp_cmd("Network.disable", {})
    assert search(page, "api key").startswith("10 passages") and page.error("search") == ""


def test_a_body_that_is_too_large(page, server):
    page.open(server.url, "similarity")
    page.fill("#similarity-texts", "x" * 2_100_000 + "\nsecond")
    page.submit("similarity")
    assert page.error("similarity").startswith("Error 413: ")
    page.fill("#similarity-texts", "first\nsecond")
    assert page.submit("similarity").startswith("2 texts compared") and page.error("similarity") == ""


def test_localhost_is_a_name_of_the_server(page, server):
    page.open(server.url.replace("127.0.0.1", "localhost"))
    assert search(page, "api key").startswith("10 passages")


# ------------------------------------------------------------ policy


def test_the_policy_blocks_scripts_and_other_hosts(page, server):
    page.open(server.url)
    for name in TABS:
        page.tab(name)
        if name == "search":
            page.fill("#query", "<script>alert(1)</script>")
        page.submit(name)
    assert [m for m in page.log() if "Failed to load resource" not in m] == []
    page.run("const s = document.createElement('script'); s.textContent = 'window.injected = 1';"
             "document.body.append(s)")
    assert page.run("return window.injected") is None
    blocked = page.driver.execute_async_script(
        "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('sent'), e => done(String(e)))")
    assert blocked.startswith("TypeError")
    assert len([m for m in page.log() if "Content Security Policy" in m]) >= 2


# ------------------------------------------------------------ keyboard and screen readers


def accessible(page):
    """Returns role and name of each element that can have the focus, as a screen reader gets them, in tree order."""
    nodes = {n["nodeId"]: n for n in page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]}
    waiting, found = [next(n for n in nodes.values() if "parentId" not in n)["nodeId"]], []
    while waiting:
        node = nodes.get(waiting.pop(), {"ignored": True})
        waiting += reversed(node.get("childIds", []))
        if not node["ignored"] and node["role"]["value"] not in ("RootWebArea", "MenuListPopup", "option") and any(
                p["name"] == "focusable" and p["value"]["value"] for p in node.get("properties", [])):
            found.append((node["role"]["value"], node.get("name", {}).get("value", "")))
    return found


def test_names_for_screen_readers(page, two_models, server):
    page.open(two_models.url)
    assert accessible(page)[:4] == [("combobox", "Model"), ("tab", "Search"), ("tab", "Similarity"), ("tab", "Map")]
    page.open(server.url)
    search(page, "rocket", index="table", mode="lexical")
    names = accessible(page)
    assert names[:11] == [("tab", "Search"), ("tab", "Similarity"), ("tab", "Map"), ("tab", "Rerank"), ("tab", "Model"),
                          ("searchbox", "Query"), ("button", "Search"), ("combobox", "Index"), ("combobox", "Mode"),
                          ("spinbutton", "Results"), ("textbox", "Filter (optional)")]
    assert ("button", "Show whole passage 3: long") in names
    for name in TABS:
        page.tab(name)
        if name != "search":
            page.submit(name)
        for summary in page.all(f"#{name} details summary"):
            summary.click()
        names = accessible(page)
        assert all(text for _, text in names), names
        assert len(set(names)) == len(names), "two controls have the same name"
        assert ("button", "Copy curl") in names and ("button", "Copy Python") in names


def test_every_function_with_the_keyboard_only(page, server):
    """The order of the focus is that of the page, and the focus is always visible and within the window."""
    page.emulate(width=360, reduced_motion=True)  # without the time in which a circle gets its border
    page.open(server.url, tab=None)
    active = lambda: page.driver.switch_to.active_element

    def walk(most=60):
        """Presses Tab until the focus leaves the page. Returns what had the focus."""
        order, tops = [], []
        page.run("document.activeElement.blur(); getSelection().removeAllRanges()")
        page.run("document.getElementById('tab-search').parentElement.scrollIntoView();"
                 "document.querySelector('[role=tab][aria-selected=true]').focus()")
        for _ in range(most):
            e = page.run("""const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
                const c = e.querySelector('circle');
                return [e.id || e.getAttribute('aria-label') || e.textContent.trim(), r.top + scrollY,
                    s.outlineStyle === 'solid' && parseFloat(s.outlineWidth) >= 3 ||
                    c !== null && parseFloat(getComputedStyle(c).strokeWidth) >= 3,
                    r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth, e === document.body]""")
            if e[4]:
                return order, tops
            assert e[2], e[0] + " has no visible focus"
            assert e[3], e[0] + " is outside of the window"
            order.append(e[0])
            tops.append(e[1])
            active().send_keys(Keys.TAB)
        raise AssertionError("the focus does not leave the page")

    page.one("#tab-search").send_keys(Keys.TAB)
    active().send_keys("rocket", Keys.TAB, Keys.TAB)
    active().send_keys("table")  # typing chooses an option of a list
    page.one("#query").send_keys(Keys.ENTER)
    page.wait(lambda: page.all(".hits"))
    order, _ = walk()
    assert order == ["tab-search", "query", "Search", "index", "mode", "count", "where", "Show whole passage 3: long",
                     "Call this from a program", "Documentation of the routes", "OpenAPI document"]
    for name, expected in [("similarity", ["similarity-texts", "Compare", "Similarity table"]),
                           ("map", ["map-texts", "Draw map", "1. apple", "Coordinates as a table"]),
                           ("rerank", ["rerank-query", "rerank-texts", "Rank"]), ("info", ["Reload"])]:
        page.one("[role=tab][aria-selected=true]").send_keys(Keys.ARROW_RIGHT)
        assert page.run("return document.activeElement.id") == "tab-" + name
        button = page.one(f"#{name} form button")
        page.run("arguments[0].focus()", button)
        active().send_keys(Keys.SPACE)
        if name == "rerank":
            page.wait(lambda: page.all("#rerank [role=alert] button"))
            page.run("arguments[0].focus()", page.one("#rerank [role=alert] button"))
            active().send_keys(Keys.ENTER)
        page.wait(lambda: page.content(f"#{name} .result") and not page.all(f"#{name} .result[aria-busy]"))
        summary = page.one(f"#{name} .out > details > summary")
        page.run("arguments[0].focus()", summary)
        active().send_keys(Keys.ENTER)
        order, tops = walk()
        assert order == ["tab-" + name, *expected, "Call this from a program", "Copy curl", "Copy Python",
                         "Documentation of the routes", "OpenAPI document"]
        assert tops[1:] == sorted(tops[1:]) or name == "map"  # a point is not above or below the others


def test_results_and_errors_are_announced(page, server):
    """The regions exist before their texts change, because screen readers announce only changes."""
    page.open(server.url)
    page.run("""window.said = [];
        for (const e of document.querySelectorAll('[role=status], [role=alert]'))
          new MutationObserver(() => {
            if (e.textContent && e.closest('[role=tabpanel]:not([hidden])'))
              said.push(e.getAttribute('role') + ': ' + e.textContent);
          }).observe(e, {childList: true, subtree: true})""")
    search(page, "rocket", index="table", mode="lexical")
    search(page, "rocket", where="year >")
    said = [re.sub(r"\d+ ms", "N ms", s) for s in page.run("return said") if s != "status: before"]
    assert said[:3] == ["status: Searching …", "status: 3 passages (N ms)", "status: Searching …"]
    assert said[3].startswith("alert: Error 422: ") and len(said) == 4


# ------------------------------------------------------------ appearance


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_appearance(page, server, two_models, locked, width, dark):
    scheme = "dark" if dark else "light"

    def check(name):
        assert page.overflow() <= 0, name
        assert page.violations() == [], name
        page.screenshot(f"real-{name}-{width}-{scheme}")

    page.emulate(width=width, dark=dark)
    page.open(server.url)
    for name in TABS:
        page.tab(name)
        check(name + "-empty")
        if name == "search":
            page.fill("#query", "How is the API key sent?")
        page.submit(name)
        if name == "rerank":
            check("rerank-error")
            page.one("#rerank [role=alert] button").click()
            page.wait(lambda: page.content("#rerank [role=status]").startswith("4 texts"))
        for summary in page.all(f"#{name} details summary"):
            summary.click()
        check(name)
    page.open(two_models.url)
    check("no-index")
    page.open(locked.url, loaded=False)
    enter_key(page, "wrong")
    page.wait(lambda: page.content("#key-error"))
    check("key")
    page.driver.get(server.url + "docs")
    if dark:  # axe-core takes the background of a page without styles as white
        assert page.overflow() <= 0
        assert [v for v in page.violations() if not v.startswith("color-contrast")] == []
    else:
        check("docs")

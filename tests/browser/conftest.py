# SPDX-License-Identifier: MIT
import pytest

from browser import Page
from mock_server import MockServer


@pytest.fixture(scope="session")
def page():
    p = Page()
    yield p
    p.close()


@pytest.fixture
def server(page):
    """The server with known answers."""
    s = MockServer()
    page.emulate()
    yield s
    page.driver.get("about:blank")
    s.close()

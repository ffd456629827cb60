# SPDX-License-Identifier: MIT
import pytest

from browser import Page
from mock_server import MockServer
from real_server import Data


@pytest.fixture(scope="session")
def page():
    p = Page()
    yield p
    p.close()


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Indexes, a cross-encoder and a key for `aoe serve`."""
    return Data(str(tmp_path_factory.mktemp("data")))


@pytest.fixture
def server(page):
    """The server with known answers."""
    s = MockServer()
    page.emulate()
    yield s
    page.driver.get("about:blank")
    s.close()

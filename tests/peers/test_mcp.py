# SPDX-License-Identifier: MIT
"""Searches an index through `aoe mcp` with the client of the Python package mcp, which validates every answer and the
structured content against its schema, in the revisions with `initialize` and in the stateless revision."""
import json
import os
import subprocess

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters

AOE = os.environ["AOE"]
REVISIONS = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
TEXTS = {
    "certificates.md": "# Certificates\n\n## Renewal\n\nThe certificate expires every 90 days.\n"
                       "Run `certbot renew` to renew it.\n",
    "garden.md": "# Garden\n\nWater the tomatoes in the evening.\n",
    "code.py": "def parse_certificate(path):\n    return open(path).read()\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of documents with an index."""
    root = tmp_path_factory.mktemp("notes")
    for name, text in TEXTS.items():
        (root / name).write_text(text)
    subprocess.run([AOE, "index", "-q", "."], cwd=root, check=True)
    return root


def run(folder, mode, calls, arguments=()):
    """Starts the server and runs the coroutine calls(client)."""
    async def main():
        server = StdioServerParameters(command=AOE, args=["mcp", *arguments], cwd=folder, env=dict(os.environ))
        async with Client(server, mode=mode, read_timeout_seconds=60) as client:
            return await calls(client)
    return anyio.run(main)


@pytest.mark.parametrize("mode", REVISIONS)
def test_revision_and_tools(folder, mode):
    async def calls(client):
        return client.protocol_version, client.server_info, client.instructions, await client.list_tools()
    version, info, instructions, listed = run(folder, mode, calls)
    assert version == REVISIONS[mode]
    if mode != "2026-07-28":  # with a fixed revision, the client does not ask for information about the server
        assert info.name == "aoe" and "get" in instructions
    assert [tool.name for tool in listed.tools] == ["search", "get", "status"]
    for tool in listed.tools:
        assert tool.annotations.read_only_hint and not tool.annotations.destructive_hint
        text = json.dumps([tool.input_schema, tool.output_schema])
        assert not any(word in text for word in ("anyOf", "oneOf", "allOf", '"type": ['))


@pytest.mark.parametrize("mode", REVISIONS)
def test_search_and_get(folder, mode):
    async def calls(client):
        found = await client.call_tool("search", {"query": "how do I renew a certificate?", "k": 2})
        hit = found.structured_content["hits"][0]
        lines = await client.call_tool("get", {"place": f"{hit['name']}:{hit['line']}"})
        same = await client.call_tool("get", {"place": hit["id"], "context": 0})
        return found, hit, lines, same, await client.call_tool("status", {})
    found, hit, lines, same, status = run(folder, mode, calls)
    assert not found.is_error and len(found.structured_content["hits"]) == 2
    assert hit["path"] == str(folder / "certificates.md") and "certbot renew" in hit["snippet"]
    assert f"certificates.md:{hit['line']}" in found.content[0].text and hit["id"] in found.content[0].text
    assert "certbot renew" in lines.content[0].text and "certbot renew" in same.structured_content["text"]
    assert status.structured_content["documents"] == len(TEXTS)


@pytest.mark.parametrize("mode", REVISIONS)
def test_errors(folder, mode):
    async def calls(client):
        with pytest.raises(MCPError) as unknown:
            await client.session.call_tool("no such tool", {})
        assert unknown.value.code == -32602
        results = []
        for tool, arguments in [("search", {}), ("search", {"query": "a", "k": 0}),
                                ("search", {"query": "a", "mode": "fast"}), ("search", {"query": "a", "where": "x >"}),
                                ("get", {"place": "certificates.md:999"}), ("get", {"place": "missing.md:1"})]:
            results.append(await client.session.call_tool(tool, arguments))
        results.append(await client.call_tool("search", {"query": "tomatoes", "mode": "lexical"}))
        return results
    *errors, good = run(folder, mode, calls)
    for result in errors:
        assert result.is_error and len(result.content[0].text) > 10
    assert good.structured_content["hits"][0]["path"] == str(folder / "garden.md")


def test_changed_file(folder):
    """A search sees the changes of files that happened after the start of the server."""
    async def calls(client):
        before = await client.call_tool("search", {"query": "marmalade", "mode": "lexical"})
        (folder / "kitchen.md").write_text("# Kitchen\n\nCook the marmalade for ten minutes.\n")
        after = await client.call_tool("search", {"query": "marmalade", "mode": "lexical"})
        (folder / "kitchen.md").unlink()
        return before, after
    before, after = run(folder, "auto", calls)
    assert before.structured_content["hits"] == []
    assert after.structured_content["hits"][0]["name"].endswith("kitchen.md")


def test_no_index(tmp_path):
    """Without an index, the server starts, and the tools say what to do."""
    async def calls(client):
        await client.list_tools()
        return await client.call_tool("status", {})
    result = run(tmp_path, "auto", calls)
    assert result.is_error and "aoe index" in result.content[0].text

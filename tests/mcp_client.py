#!/usr/bin/env python3
"""The MCP server driven by the client of the package `mcp` (PyPI): every tool once with valid and with invalid arguments.

    tests/mcp_client.py [CRAWL_BINARY]

Crawls a small site into a project first. Exits with 1 at the first wrong answer. Without the package it prints a message and
exits with 0.
"""
import asyncio, http.server, importlib.util, os, pathlib, sys, tempfile, threading

from rest_schemathesis import FOOTER, ROOT, Site, crawl

WORDS = "Sheet number 3 says in its only paragraph"


async def refused(client, tool, arguments, *words):
    """A call that must fail, as an error of the tool or of the protocol, with a reason."""
    from mcp import MCPError
    try:
        answer = await client.call_tool(tool, arguments)
    except MCPError as error:
        said = str(error)
    else:
        assert answer.is_error, f"{tool} took {arguments}"
        said = answer.content[0].text
    assert all(word in said for word in words), f"{tool} {arguments}: {words} not in {said!r}"
    print(f"  {tool} refused: {said[:110]}")


async def answered(client, tool, arguments):
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, f"{tool} {arguments}: {answer.content[0].text}"
    print(f"  {tool} answered: {answer.content[0].text[:110]}")
    return answer.structured_content


async def talk(binary, folder, env, url):
    from mcp import Client, StdioServerParameters
    server = StdioServerParameters(
        command=binary, args=["mcp", "--database", str(folder / "p.sqlite")],
        env={**env, "CRAWL_FETCH_ALLOW_ADDRESSES": "127.0.0.0/8", "CRAWL_POLITENESS_DELAY": "0s"})
    async with Client(server, read_timeout_seconds=60) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        expected = {"analyze_boilerplate", "boilerplate_stats", "list_projects", "crawl_url", "extract_page", "get_source"}
        assert set(tools) == expected, sorted(tools)
        for tool in tools.values():
            assert tool.description and tool.input_schema["type"] == "object" and tool.output_schema, tool.name

        project = (await answered(client, "list_projects", {}))["projects"][0]
        assert (project["name"], project["sources"]) == ("sheets", 10), project
        await refused(client, "list_projects", {"after": -1}, "after")

        done = await answered(client, "analyze_boilerplate", {"project_id": project["id"], "mode": "exact"})
        assert (done["domains_analyzed"], done["total_pages_cleaned"]) == (1, 10), done
        await refused(client, "analyze_boilerplate", {"project_id": "sheets", "threshold_pct": 1.5}, "threshold_pct", "0.1 to 1")
        await refused(client, "analyze_boilerplate", {"project_id": "sheets", "min_pages": "many"}, "min_pages: invalid type")
        await refused(client, "analyze_boilerplate", {}, "project_id")

        stats = await answered(client, "boilerplate_stats", {"project_id": "sheets"})
        assert stats["domains"][0]["blocks_boilerplate"] >= 1, stats
        await refused(client, "boilerplate_stats", {"project_id": "nobody"}, "no project")

        page = await answered(client, "crawl_url", {"url": f"{url}p/3.html", "project_id": "sheets", "source_group": "agent"})
        assert WORDS in page["text"] and page["metadata"]["statusCode"] == 200, page
        await refused(client, "crawl_url", {"url": f"{url}missing"}, "404")
        await refused(client, "crawl_url", {"url": "ftp://127.0.0.1/"}, "url", "http")
        await refused(client, "crawl_url", {"url": "http://10.0.0.1/"}, "address")

        source = await answered(client, "get_source", {"project_id": "sheets", "source": page["id"]})
        original = await answered(client, "get_source", {"project_id": "sheets", "source": f"{url}p/3.html", "original": True})
        footer = FOOTER.removeprefix("<p>").removesuffix("</p>")
        assert WORDS in source["text"] and footer not in source["text"] and footer in original["text"]
        await refused(client, "get_source", {"project_id": "sheets", "source": f"{url}nothing"}, "no source")

        html = f"<html lang=en><title>A sheet</title><main><h1>A sheet</h1><p>{'A sentence with several words in it. ' * 20}</p></main></html>"
        part = await answered(client, "extract_page", {"html": html, "url": "https://example.org/", "max_chars": 100})
        assert (len(part["text"]), part["next_offset"]) == (100, 100), part
        await refused(client, "extract_page", {"html": html, "max_chars": 0}, "max_chars")
        await refused(client, "extract_page", {"html": html, "colour": "red"}, "colour")
        await refused(client, "no_such_tool", {}, "tool")


def main():
    if importlib.util.find_spec("mcp") is None:
        print("skipped: the package mcp is not installed")
        return 0
    binary = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target/debug/crawl")
    with tempfile.TemporaryDirectory(prefix="crawl-mcp-") as folder:
        folder = pathlib.Path(folder)
        env = {"HOME": str(folder), "PATH": os.environ["PATH"]}
        crawl(binary, folder, env)
        # the site of the crawl, at its port
        port = int((folder / "seeds.txt").read_text().rsplit(":", 1)[1].strip("/\n"))
        site = http.server.ThreadingHTTPServer(("127.0.0.1", port), Site)
        threading.Thread(target=site.serve_forever, daemon=True).start()
        asyncio.run(talk(binary, folder, env, f"http://127.0.0.1:{port}/"))
    print("every tool answers and refuses as it should")
    return 0


if __name__ == "__main__":
    sys.exit(main())

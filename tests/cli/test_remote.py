"""`--url`: import and export through a service elsewhere, with the key from a variable."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from app.cli import main
from app.cli.console import DONE, UNREACHABLE, USAGE, WRONG

REPORT = {"sessions": [{"id": "ses_1", "title": "T", "messages": 2, "kept": 2, "already_stored": 0, "changed": [], "lost": []}]}


@pytest.fixture
def elsewhere():
    """A service that answers as the contract says, and what it was asked."""
    asked: list[tuple[str, str | None, bytes]] = []

    class Service(BaseHTTPRequestHandler):
        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            asked.append((self.path, self.headers["Authorization"], self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer(201, json.dumps(REPORT).encode())

        def do_GET(self) -> None:
            asked.append((self.path, self.headers["Authorization"], b""))
            known = "ses_1/" in self.path
            self._answer(200 if known else 404, b"line\n" * 1000 if known else json.dumps({"detail": "There is no such session."}).encode())

        def log_message(self, *_: object) -> None:
            """Tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_import_posts_the_file_with_its_format_and_the_key(elsewhere, tmp_path, monkeypatch, capsys):
    url, asked = elsewhere
    monkeypatch.setenv("MY_KEY", "clk_1")
    (tmp_path / "a.jsonl").write_bytes(b"words\n" * 500_000)
    words = [
        "import",
        "--url",
        url,
        "--key-env",
        "MY_KEY",
        "--format",
        "claude-code",
        "--agent",
        "a&b",
        "--dry-run",
        "--json",
        str(tmp_path / "a.jsonl"),
    ]
    assert main(words) == DONE
    assert asked == [("/sessions/import?format=claude-code&agent=a%26b&dry_run=true", "Bearer clk_1", b"words\n" * 500_000)]
    assert json.loads(capsys.readouterr().out)["files"][0]["sessions"] == REPORT["sessions"]


def test_an_export_is_written_whole_or_not_at_all(elsewhere, tmp_path, capsys):
    url, asked = elsewhere
    target = tmp_path / "out.jsonl"
    assert main(["export", "ses_1", "--url", url, "--output", str(target)]) == DONE
    assert (target.read_bytes(), asked[0][0]) == (b"line\n" * 1000, "/sessions/ses_1/export?format=jsonl")
    target.unlink()
    assert main(["export", "ses_2", "--url", url, "--output", str(target)]) == WRONG
    assert list(tmp_path.iterdir()) == []
    assert "There is no such session." in capsys.readouterr().err


def test_a_service_that_is_not_there_a_bad_url_and_a_missing_key_are_said(tmp_path, capsys):
    file = tmp_path / "a.jsonl"
    file.write_text("x")
    assert main(["import", "--url", "http://u:s3cret@127.0.0.1:1", "--format", "jsonl", str(file)]) == UNREACHABLE
    assert main(["import", "--url", "ftp://x", "--format", "jsonl", str(file)]) == USAGE
    assert main(["import", "--url", "http://127.0.0.1:1", "--key-env", "NOT_SET_HERE", "--format", "jsonl", str(file)]) == USAGE
    assert main(["import", "--key-env", "X", "--format", "jsonl", str(file)]) == USAGE
    said = capsys.readouterr().err
    assert "cannot be reached" in said
    assert "s3cret" not in said

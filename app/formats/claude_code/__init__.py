"""Floor 3: session files of Claude Code (client 2.x, JSONL), read only. A stranger to the other formats.

Pure: bytes in, messages and notes out; no clock, no chance, nothing sent and nothing read.
"""

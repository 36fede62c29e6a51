"""Floor 3: session files of the pi coding agent (JSONL, versions 1 to 3), read only. A stranger to the other formats.

Pure: bytes in, messages and notes out; no clock, no chance, nothing sent and nothing read.
"""

"""Floor 3: rollout files of the Codex command line (JSONL), read only. A stranger to the other formats.

Pure: bytes in, messages and notes out; no clock, no chance, nothing sent and nothing read.
"""

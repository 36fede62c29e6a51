"""Floor 3: UI messages of the AI SDK (versions 4 to 6), read only. A stranger to the other formats.

Pure: bytes in, messages and notes out; no clock, no chance, nothing sent and nothing read.
"""

"""Floor 3: the Messages wire format of Anthropic. A stranger to the other formats.

Pure: bytes in, bytes out; no clock, no chance, nothing sent and nothing read.
"""

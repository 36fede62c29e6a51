"""Floor 3: the Chat Completions wire format of OpenAI and of the servers that speak it. A stranger to the other formats.

Pure: bytes in, bytes out; no clock, no chance, nothing sent and nothing read.
"""

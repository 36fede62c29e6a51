"""Floor 3: the Responses wire format of OpenAI. A stranger to the other formats.

Pure: bytes in, bytes out; no clock, no chance, nothing sent and nothing read.
"""

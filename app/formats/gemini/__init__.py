"""Floor 3: the generateContent wire format of Gemini. A stranger to the other formats.

Pure: bytes in, bytes out; no clock, no chance, nothing sent and nothing read.
"""

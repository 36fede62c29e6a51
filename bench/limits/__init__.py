"""What the machine gives when nothing of ours is in the way. Knows asyncpg, httpx, aiohttp and orjson; imports nothing of `app`."""

"""The pure half of compaction: what a checkpoint would cover, what its summary is asked for with, read as, and told as.

Nothing here calls anybody or writes anything: the service asks, checks and appends in the order of http-api 7.
"""

"""JSON Schemas of requests and answers: the single truth for validation and for the OpenAPI document.

Data only. Keywords are those that the fast checker and the full one understand alike.
"""

"""Three judges of a body, strangers to one another: the official SDK's types, our own rules, and the rules of the strict fakes.

The first two know shapes and conversations as the vendor and as we describe them; the third was written by other hands from the
documentation. A body that none of them objects to is one that the provider would have to take.
"""

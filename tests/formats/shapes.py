"""Values of any shape for the laws of readers: what a vendor may send that nobody thought of."""

from hypothesis import strategies as st

plain = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
anything = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2), max_leaves=5)


def objects(*keys: str, **shapes: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Anything, or an object with some of these keys, each of them of its shape or of any."""
    return anything | st.fixed_dictionaries({}, optional=dict.fromkeys(keys, anything) | {key: anything | shape for key, shape in shapes.items()})

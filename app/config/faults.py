"""What is wrong with a configuration. Messages name the setting, never a value: a value may be a secret."""


class ConfigError(ValueError):
    """The service refuses to start; the text says which setting is wrong and what it takes."""

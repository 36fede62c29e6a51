"""Floor 3, below the formats: framing of byte streams. No provider's rule is known here, and nothing is read or sent."""

"""The names that Gemini's messages have, and a reader of members that takes proto-JSON as Google's servers do.

Sources: the wire-format notes 5.1 and 12.3, the types of google-genai 3.6.1, the discovery document of Vertex (2026-11-06). A name may
be spelled in camel case or with underscores, and a null is no member. An unknown name is refused ("Unknown name …").
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.formats.protocols import Violation

_CAPITAL = re.compile(r"[A-Z]")
_NUMERAL = re.compile(r"-?\d{1,19}(?:\.\d{1,19})?")

Found = list[Violation]


@dataclass(frozen=True, slots=True)
class Shape:
    """A message: its names in camel case, and every spelling of them → camel case."""

    names: frozenset[str]
    spellings: Mapping[str, str]


def _shape(names: str) -> Shape:
    listed = names.split()
    return Shape(frozenset(listed), {spelling: name for name in listed for spelling in (name, _snake(name))})


def _snake(name: str) -> str:
    return _CAPITAL.sub(lambda match: f"_{match.group().lower()}", name)


REQUEST = _shape(
    "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent serviceTier store continuationToken labels"
    " model modelArmorConfig outputConfig"
)
CONTENT = _shape("role parts")
DATA = "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse"
PART = _shape(
    f"{DATA} thought thoughtSignature videoMetadata mediaResolution partMetadata audioTranscription mediaProcessing speechMetadata"
    " documentMetadata spreadsheetMetadata audioMetadata"
)
BLOB = _shape("mimeType data displayName")
FILE = _shape("fileUri mimeType displayName")
CALL = _shape("id name args partialArgs willContinue")
RESPONSE = _shape("id name response parts willContinue scheduling")
RESPONSE_PART = _shape("inlineData fileData mediaProcessing mediaResolution videoMetadata documentMetadata spreadsheetMetadata audioMetadata")
TOOL = _shape(
    "functionDeclarations retrieval computerUse fileSearch googleSearch googleMaps codeExecution enterpriseWebSearch googleSearchRetrieval"
    " parallelAiSearch urlContext mcpServers exaAiSearch"
)
DECLARATION = _shape("name description parameters parametersJsonSchema response responseJsonSchema behavior")
SCHEMA = _shape(
    "additionalProperties defs ref anyOf default description enum example format items maxItems maxLength maxProperties maximum minItems"
    " minLength minProperties minimum nullable pattern properties propertyOrdering required title type"
)
TOOL_CONFIG = _shape("functionCallingConfig retrievalConfig includeServerSideToolInvocations")
CALLING = _shape("mode allowedFunctionNames streamFunctionCallArguments")
GENERATION = _shape(
    "maxOutputTokens temperature topP topK candidateCount stopSequences seed presencePenalty frequencyPenalty responseMimeType"
    " responseSchema responseJsonSchema responseFormat responseModalities responseLogprobs logprobs thinkingConfig mediaResolution"
    " speechConfig imageConfig audioTimestamp audioTranscriptionConfig translationConfig routingConfig modelSelectionConfig"
    " enableAffectiveDialog enableEnhancedCivicAnswers"
)
THINKING = _shape("includeThoughts thinkingBudget thinkingLevel")
SAFETY = _shape("category threshold method")


def members(value: Any, shape: Shape, at: str, found: Found) -> Mapping[str, Any] | None:
    """The members that are given, by their names in camel case. None, with a violation, for what is no object."""
    if type(value) is not dict and not isinstance(value, Mapping):
        found.append(Violation(at or "/", "not-an-object", "This has to be an object."))
        return None
    if value.keys() <= shape.names and None not in value.values():
        return value
    known: dict[str, Any] = {}
    for key, item in value.items():
        name = shape.spellings.get(key)
        if name is None:
            found.append(Violation(f"{at}/{escaped(key)}", "name-unknown", "Gemini refuses a name that it does not know."))
        elif item is not None:
            known[name] = item
    return known


def under(at: str, value: Any, name: str) -> str:
    """The pointer of a member, as it is spelled there."""
    return f"{at}/{_snake(name) if isinstance(value, Mapping) and name not in value and _snake(name) in value else name}"


def elements(value: Any, at: str, found: Found) -> Iterator[tuple[str, Any]]:
    """Pointer and value of each element; a violation for what is no list."""
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield f"{at}/{index}", item
    else:
        found.append(Violation(at, "not-a-list", "This has to be a list."))


def number(value: Any) -> float | None:
    """A number, which proto-JSON may spell as a string; None for anything else."""
    if isinstance(value, str):
        return float(value) if _NUMERAL.fullmatch(value) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")

"""The messages that Gemini's Developer API reads, field by field, as far as its documentation names them (wire-format notes 5.1).

A field's kind is a scalar, the name of a message or of an enum; `[]` before it: repeated, `{}`: a map. `any` is not looked into.
"""

from collections.abc import Mapping

# fmt: off
MESSAGES: Mapping[str, Mapping[str, str]] = {
    "GenerateContentRequest": {
        "model": "string", "contents": "[]Content", "systemInstruction": "Content", "tools": "[]Tool", "toolConfig": "ToolConfig",
        "safetySettings": "[]SafetySetting", "generationConfig": "GenerationConfig", "cachedContent": "string", "serviceTier": "string",
        "store": "bool", "continuationToken": "bytes", "labels": "{}string",
    },
    "CountTokensRequest": {"contents": "[]Content", "generateContentRequest": "GenerateContentRequest"},
    "Content": {"role": "string", "parts": "[]Part"},
    "Part": {
        "text": "string", "inlineData": "Blob", "fileData": "FileData", "functionCall": "FunctionCall", "functionResponse": "FunctionResponse",
        "executableCode": "ExecutableCode", "codeExecutionResult": "CodeExecutionResult", "toolCall": "any", "toolResponse": "any",
        "thought": "bool", "thoughtSignature": "bytes", "videoMetadata": "any", "mediaResolution": "any", "partMetadata": "struct",
        "audioTranscription": "any", "mediaProcessing": "any", "speechMetadata": "any", "documentMetadata": "any",
        "spreadsheetMetadata": "any", "audioMetadata": "any",
    },
    "Blob": {"mimeType": "string", "data": "bytes", "displayName": "string"},
    "FileData": {"mimeType": "string", "fileUri": "string", "displayName": "string"},
    "FunctionCall": {"id": "string", "name": "string", "args": "struct"},
    "FunctionResponse": {
        "id": "string", "name": "string", "response": "struct", "parts": "[]FunctionResponsePart", "willContinue": "bool", "scheduling": "string",
    },
    "FunctionResponsePart": {
        "inlineData": "Blob", "fileData": "FileData", "mediaProcessing": "any", "mediaResolution": "any", "videoMetadata": "any",
        "documentMetadata": "any",
    },
    "ExecutableCode": {"id": "string", "language": "Language", "code": "string"},
    "CodeExecutionResult": {"id": "string", "outcome": "Outcome", "output": "string"},
    "Tool": {
        "functionDeclarations": "[]FunctionDeclaration", "googleSearch": "any", "googleSearchRetrieval": "any", "codeExecution": "any",
        "urlContext": "any", "googleMaps": "any", "computerUse": "any", "fileSearch": "any", "mcpServers": "any",
    },
    "FunctionDeclaration": {
        "name": "string", "description": "string", "parameters": "Schema", "parametersJsonSchema": "any", "response": "Schema",
        "responseJsonSchema": "any", "behavior": "Behavior",
    },
    "Schema": {
        "type": "Type", "format": "string", "title": "string", "description": "string", "nullable": "bool", "enum": "[]string",
        "items": "Schema", "minItems": "int", "maxItems": "int", "properties": "{}Schema", "required": "[]string", "minProperties": "int",
        "maxProperties": "int", "minLength": "int", "maxLength": "int", "pattern": "string", "example": "any", "anyOf": "[]Schema",
        "propertyOrdering": "[]string", "default": "any", "minimum": "number", "maximum": "number",
    },
    "ToolConfig": {"functionCallingConfig": "FunctionCallingConfig", "retrievalConfig": "any", "includeServerSideToolInvocations": "bool"},
    "FunctionCallingConfig": {"mode": "Mode", "allowedFunctionNames": "[]string"},
    "SafetySetting": {"category": "HarmCategory", "threshold": "HarmBlockThreshold"},
    "GenerationConfig": {
        "stopSequences": "[]string", "responseMimeType": "string", "responseSchema": "Schema", "responseJsonSchema": "any",
        "responseModalities": "[]Modality", "candidateCount": "int", "maxOutputTokens": "int", "temperature": "number", "topP": "number",
        "topK": "number", "seed": "int", "presencePenalty": "number", "frequencyPenalty": "number", "responseLogprobs": "bool",
        "logprobs": "int", "enableEnhancedCivicAnswers": "bool", "speechConfig": "any", "thinkingConfig": "ThinkingConfig",
        "imageConfig": "any", "mediaResolution": "MediaResolution", "audioTranscriptionConfig": "any", "translationConfig": "any",
        "responseFormat": "any",
    },
    "ThinkingConfig": {"includeThoughts": "bool", "thinkingBudget": "int", "thinkingLevel": "ThinkingLevel"},
}
ENUMS: Mapping[str, frozenset[str]] = {
    "Type": frozenset({"TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}),
    "Mode": frozenset({"MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"}),
    "ThinkingLevel": frozenset({"THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"}),
    "Language": frozenset({"LANGUAGE_UNSPECIFIED", "PYTHON"}),
    "Outcome": frozenset({"OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"}),
    "Behavior": frozenset({"UNSPECIFIED", "BLOCKING", "NON_BLOCKING"}),
    "Modality": frozenset({"MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO", "VIDEO"}),
    "MediaResolution": frozenset({
        "MEDIA_RESOLUTION_UNSPECIFIED", "MEDIA_RESOLUTION_LOW", "MEDIA_RESOLUTION_MEDIUM", "MEDIA_RESOLUTION_HIGH",
    }),
    "HarmCategory": frozenset({
        "HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_DANGEROUS_CONTENT", "HARM_CATEGORY_HARASSMENT", "HARM_CATEGORY_SEXUALLY_EXPLICIT",
        "HARM_CATEGORY_CIVIC_INTEGRITY",
    }),
    "HarmBlockThreshold": frozenset({"BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "BLOCK_NONE", "OFF"}),
}
# fmt: on
ONE_OF: Mapping[str, frozenset[str]] = {
    "Part": frozenset(
        {
            "text",
            "inlineData",
            "fileData",
            "functionCall",
            "functionResponse",
            "executableCode",
            "codeExecutionResult",
            "toolCall",
            "toolResponse",
        }
    ),
    "FunctionResponsePart": frozenset({"inlineData", "fileData"}),
}
"""Of these fields of a message exactly one is set."""

"""The blocks of a body, in the order of a provider's prompt."""

import pytest

from app.formats.prefix import blocks

BODY = {
    "model": "m",
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
    "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "b"}, {"cachePoint": {"type": "default"}}]}],
    "tools": [{"name": "t"}],
    "toolConfig": {"tools": [{"name": "u"}], "toolChoice": {"auto": {}}},
    "systemInstruction": {"parts": [{"text": "s"}]},
}


@pytest.mark.req("X-33")
def test_blocks_come_in_the_prompts_order_without_marks():
    assert list(blocks(BODY, ("tools", "system", "messages", "absent"))) == [
        ("/tools/0", '{"name":"t"}'),
        ("/system/0", '{"type":"text","text":"s"}'),
        ("/messages/0", '{"role":"user","content":"a"}'),
        ("/messages/1/role", '{"role":"user"}'),
        ("/messages/1/content/0", '{"type":"text","text":"b"}'),
    ]


def test_objects_are_opened_where_they_hold_lists():
    assert list(blocks(BODY, ("toolConfig", "systemInstruction"))) == [
        ("/toolConfig/tools/0", '{"name":"u"}'),
        ("/toolConfig/toolChoice", '{"auto":{}}'),
        ("/systemInstruction/parts/0", '{"text":"s"}'),
    ]

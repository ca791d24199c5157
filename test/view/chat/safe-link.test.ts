import { expect, test } from "bun:test";
import { safeLink } from "../../../src-view/chat/safe-link.ts";

test("only http, https and mailto leave the page", () => {
  for (const address of [
    "https://example.org/a?b#c",
    "http://127.0.0.1:8080",
    "HTTPS://EXAMPLE.ORG",
    "mailto:a@example.org",
  ])
    expect(safeLink(address)).toBe(address);
  const refused = [
    "javascript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "//example.org",
  ];
  for (const address of [...refused, "/session", "#fragment", "java\nscript:x", "vbscript:x", "blob:https://x", ""])
    expect(safeLink(address)).toBe("");
});

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { markdownParts } from "../../../src-view/chat/markdown-parts.ts";

const rendered = (text: string): string =>
  renderToStaticMarkup(createElement(ReactMarkdown, { remarkPlugins: [remarkGfm], children: text })).replaceAll(
    "\n",
    "",
  );
const inParts = (text: string): string => markdownParts(text).map(rendered).join("");

describe("an answer's parts", () => {
  test("are its paragraphs, and together they are the text", () => {
    const text = "First.\n\nSecond\nline.\n\n## Third\n\n";
    expect(markdownParts(text)).toEqual(["First.\n\n", "Second\nline.\n\n", "## Third\n\n"]);
  });

  test("do not cut what goes on after a blank line", () => {
    for (const text of [
      "- a\n\n- b",
      "1. a\n\n   more\n\n2. b",
      "```\nx\n\ny\n```",
      "~~~~\n```\n\ntext\n~~~~",
      "> a\n\n> b",
    ])
      expect(markdownParts(text)).toEqual([text]);
  });

  test("are one where a reference or footnote ties the text together", () => {
    const text = "See [this][1].\n\nMore.\n\n[1]: https://example.org";
    expect(markdownParts(text)).toEqual([text]);
  });

  test("are one where raw markup could reach over a blank line", () => {
    for (const text of ["<!--\n\n**bold**", "</div>\n```ts\n\n```\n\n```"]) expect(markdownParts(text)).toEqual([text]);
  });

  test("look as the whole does", () => {
    const line = fc.constantFrom(
      ...[
        "",
        "",
        "",
        "text",
        "**bold** text",
        "- item",
        "1. one",
        "2) two",
        "10 apples",
        "  indented",
        "    code",
        "\tcode",
      ],
      ...[
        "```",
        "```ts",
        "~~~",
        "> quote",
        "# Title",
        "| a | b |",
        "|---|---|",
        "---",
        "===",
        "* star",
        "_em_",
        "<b>x</b>",
      ],
      ...["<!--", "-->", "<div>", "</div>", "[x](https://example.org)", "[1]: https://example.org", "[x][1]", "مرحبا"],
      ...[
        "  ```",
        "- ```",
        "> ```",
        "``` a`b",
        "````",
        "<pre>",
        "1986",
        "+ plus",
        "- [x] done",
        "***",
        "[^1]: note",
        "a[^1]",
      ],
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 14 }), (lines) => {
        const text = lines.join("\n");
        expect(markdownParts(text).join("")).toBe(text);
        expect(inParts(text)).toBe(rendered(text));
      }),
      { numRuns: 200 },
    );
  });
});

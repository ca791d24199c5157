// An answer's Markdown. No raw HTML, nothing is fetched, links leave the page only on http, https and mailto.
import { createElement, memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { texts } from "../ui/texts.ts";
import { markdownParts } from "./markdown-parts.ts";
import { safeLink } from "./safe-link.ts";

type LinkProps = { readonly address: string | undefined; readonly children: ReactNode };

const Link = ({ address, children }: LinkProps) =>
  address === undefined || address === "" ? (
    <span>{children}</span>
  ) : (
    <a href={address} target="_blank" rel="noopener noreferrer" title={`${address} (${texts.openLink})`}>
      {children}
    </a>
  );

/** The same element with its direction taken from its own text. */
const directed = (tag: string) => (props: { readonly children?: ReactNode }) =>
  createElement(tag, { dir: "auto" }, props.children);

const components: Components = {
  p: directed("p"),
  ul: directed("ul"),
  ol: ({ children, start }) => (
    <ol dir="auto" start={start}>
      {children}
    </ol>
  ),
  blockquote: directed("blockquote"),
  // The chat's title is the page's first heading, so an answer's begin below it.
  h1: directed("h2"),
  h2: directed("h3"),
  h3: directed("h4"),
  h4: directed("h5"),
  h5: directed("h6"),
  h6: directed("h6"),
  a: ({ href, children }) => <Link address={href}>{children}</Link>,
  img: ({ src, alt }) => {
    const address = typeof src === "string" ? src : undefined;
    return <Link address={address}>{alt === undefined || alt === "" ? address : alt}</Link>;
  },
  input: ({ checked }) => <span>{checked === true ? "☑" : "☐"}</span>,
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: wide code scrolls sideways, by keyboard too
    <pre dir="ltr" tabIndex={0}>
      {children}
    </pre>
  ),
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls sideways, by keyboard too
    <div className="table" tabIndex={0}>
      <table dir="auto">{children}</table>
    </div>
  ),
};

const plugins = [remarkGfm];

export type MarkdownProps = { readonly text: string; readonly id: string };

const Part = memo(({ text, id }: MarkdownProps) => (
  <ReactMarkdown
    components={components}
    remarkPlugins={plugins}
    remarkRehypeOptions={{ clobberPrefix: `${id}-` }}
    urlTransform={safeLink}
  >
    {text}
  </ReactMarkdown>
));

export const Markdown = memo(({ text, id }: MarkdownProps) => (
  <div className="markdown">
    {markdownParts(text).map((part, index) => (
      <Part key={index} text={part} id={id} />
    ))}
  </div>
));

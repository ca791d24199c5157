import { Template } from "@huggingface/jinja";

/** JSON, as the messages and tools of a request are, and the texts that a tokenizer names. */
export type TemplateContext = Readonly<Record<string, unknown>>;

/** Templates count messages with `range`; the library's own would fill the memory with what it is asked for. */
const MAX_RANGE = 100_000;
/** What a render may write, in UTF-16 units: more than any model reads. */
const MAX_TEXT = 1 << 26;
const KEPT_TEMPLATES = 8;
/** The library's globals cannot be given anew, but a template may set them; its line's end belongs to the block. */
const PROLOGUE = "{% set range = bounded_range %}\n";

const range = (first: number, second?: number, step = 1): number[] => {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (!(length <= MAX_RANGE)) throw new RangeError(`it asks for a range of ${length} numbers`);
  return Array.from({ length }, (_, index) => start + index * step);
};

/** Runs templates and keeps the parsed ones. Each throws what the template throws. */
export class TemplateRuns {
  readonly #parsed = new Map<string, Template>();

  render(source: string, context: TemplateContext): string {
    const text = this.#parse(source).render({ ...context, bounded_range: range });
    if (text.length > MAX_TEXT) throw new RangeError(`it writes ${text.length} characters`);
    return text;
  }

  #parse(source: string): Template {
    const known = this.#parsed.get(source);
    if (known !== undefined) return known;
    const template = new Template(PROLOGUE + source);
    if (this.#parsed.size >= KEPT_TEMPLATES) this.#parsed.clear();
    this.#parsed.set(source, template);
    return template;
  }
}

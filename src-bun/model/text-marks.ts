// Marks beside special-looking passages of a request's texts, so that in what a template wrote they can be told from
// the template's own special tokens.
import { KeepwarmError } from "../base/errors.ts";

const PRIVATE_USE = { first: 0xe000, last: 0xf8ff } as const;

/** Which side of a passage its mark stands on. */
export type MarkSide = "before" | "after";

/** All strings inside a JSON value, keys included. */
export const textsIn = (value: unknown): string[] => {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...textsIn(inner)]);
};

/** The same JSON value with every text in it replaced, keys included. */
export const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((inner) => mapTexts(inner, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), mapTexts(inner, change)]));
};

const writtenOut = (mark: string): string => `\\u${mark.charCodeAt(0).toString(16)}`;

/** A character that occurs in none of the texts, not even written out. */
export const unusedCharacter = (texts: readonly string[]): string => {
  for (let code = PRIVATE_USE.first; code <= PRIVATE_USE.last; code++) {
    const mark = String.fromCharCode(code);
    if (!texts.some((text) => text.includes(mark) || text.includes(writtenOut(mark)))) return mark;
  }
  throw new KeepwarmError("bad-request", "The messages use every private character, so none is left to mark places.");
};

/** The same JSON value with a mark beside each passage that `pattern` finds. */
export const withMarks = (value: unknown, pattern: RegExp, mark: string, side: MarkSide): unknown => {
  const place = (found: string): string => (side === "before" ? mark + found : found + mark);
  return mapTexts(value, (text) => text.replace(pattern, place));
};

/** A template that writes JSON in ASCII writes the mark out. */
export const readMarks = (text: string, mark: string): string => text.replaceAll(writtenOut(mark), mark);

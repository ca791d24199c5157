const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;

/** The index behind the text literal that starts at `start`. */
const behindText = (json: string, start: number): number => {
  let at = start + 1;
  while (json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
};

/**
 * The first key that one object of the text has twice, or null. JSON.parse keeps the last of two and says nothing.
 * Requires a text that JSON.parse took.
 */
export const findRepeatedKey = (json: string): string | null => {
  const open: Set<string>[] = [];
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (character === "{" || character === "[") open.push(new Set());
    else if (character === "}" || character === "]") open.pop();
    if (character !== '"') continue;
    const end = behindText(json, at);
    let next = end;
    while (isBlank(json.charCodeAt(next))) next++;
    const isKey = json.charCodeAt(next) === COLON;
    const key = isKey ? (JSON.parse(json.slice(at, end)) as string) : "";
    const seen = open.at(-1);
    if (isKey && seen?.has(key)) return key;
    if (isKey) seen?.add(key);
    at = end - 1;
  }
  return null;
};

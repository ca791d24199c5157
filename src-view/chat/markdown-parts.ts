// Cuts an answer where cutting changes nothing, so that a growing one is read anew only in its last part.

/** What may reach over a blank line unseen: references and footnotes, fences inside a list or quote, some raw markup. */
const ties = [
  /^\s*\[[^\]]+\]:/m,
  /^(?:[ \t]+|.*[-*+>.)][ \t]+)(?:`{3}|~{3})/m,
  /^\s*<|<(?:[!?]|script|pre|style|textarea)/im,
];
const fence = /^(`{3,}|~{3,})(.*)/;
/** Begins a block of its own: neither indented nor a list, quote, table or raw markup that could go on from before. */
const freshBlock = /^(?:[\p{L}\p{M}#`~*_"'“‘([¿¡]|\d+(?![.)\d]))/u;
const listMarker = /^[*_-](?:\s|$)/;

const isFresh = (line: string): boolean => freshBlock.test(line) && !listMarker.test(line);

/** The marker of the fence that is open after this line; null outside of one. */
const fenceAfter = (line: string, open: string | null): string | null => {
  const [, marker, rest] = fence.exec(line) ?? [];
  if (marker === undefined || rest === undefined) return open;
  if (open !== null) return marker.startsWith(open) && rest.trim() === "" ? null : open;
  return marker.startsWith("`") && rest.includes("`") ? null : marker;
};

export const markdownParts = (text: string): readonly string[] => {
  if (ties.some((tie) => tie.test(text))) return [text];
  const cuts = [0];
  let open: string | null = null;
  let isAfterBlank = false;
  let at = 0;
  for (const line of text.split("\n")) {
    if (at > 0 && open === null && isAfterBlank && isFresh(line)) cuts.push(at);
    open = fenceAfter(line, open);
    isAfterBlank = line.trim() === "";
    at += line.length + 1;
  }
  return cuts.map((start, index) => text.slice(start, cuts[index + 1]));
};

/**
 * SentencePiece joins the two neighbours whose joint piece has the best score. As a list of merges: every way to make
 * a piece from two others, best piece first; among those of one piece, by the order of the parts.
 */
export const mergesByScore = (tokens: readonly string[], scores: readonly number[]): [string, string][] => {
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const found: { readonly score: number; readonly left: number; readonly right: number }[] = [];
  for (const [token, id] of ids) {
    for (let end = 1; end < token.length; end++) {
      const left = ids.get(token.slice(0, end));
      const right = left === undefined ? undefined : ids.get(token.slice(end));
      if (left !== undefined && right !== undefined) found.push({ score: scores[id] ?? -id, left, right });
    }
  }
  found.sort((a, b) => b.score - a.score || a.left - b.left || a.right - b.right);
  return found.map(({ left, right }) => [tokens[left] ?? "", tokens[right] ?? ""]);
};

type Merge = { readonly score: number; readonly left: string; readonly right: string };

/**
 * SentencePiece joins the two neighbours whose joint piece has the best score. As a list of merges: every way to make
 * a piece from two others, best score first, then in the reference's order (`generate_merges` of transformers): the
 * longest left part, then the longest right part.
 */
export const mergesByScore = (pieces: ReadonlyMap<string, number>): [string, string][] => {
  const found: Merge[] = [];
  for (const [piece, score] of pieces) {
    for (let end = 1; end < piece.length; end++) {
      const left = piece.slice(0, end);
      const right = piece.slice(end);
      if (pieces.has(left) && pieces.has(right)) found.push({ score, left, right });
    }
  }
  const length = (text: string): number => [...text].length;
  found.sort((a, b) => b.score - a.score || length(b.left) - length(a.left) || length(b.right) - length(a.right));
  return found.map(({ left, right }) => [left, right]);
};
